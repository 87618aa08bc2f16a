//! What a viewer has in the place of the text field.

export function ReadOnly() {
  return (
    <p className="note">
      You can read this workspace. To write here you need the role author: ask the owner of the server.
    </p>
  );
}
