//! The place of the text field, for a viewer.

export function ReadOnly() {
  return (
    <p className="note">
      You can read this workspace. To write here you need the role author: ask the owner of the server.
    </p>
  );
}
