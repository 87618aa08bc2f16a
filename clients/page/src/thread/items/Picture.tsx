//! A picture in a message: its bytes if the server has them, else its name.
import { useEffect, useState } from "react";
import { useClient } from "../../server/context";
import { useActions } from "../../server/threads";
import { Dialog } from "../../ui/Dialog";

/** Most cached pictures, which scrolling does not read again. */
const MOST = 30;
const known = new Map<string, string>();

export function Picture({ path, name }: { path: string; name: string }) {
  const client = useClient();
  const { threadId } = useActions();
  const [url, setUrl] = useState(known.get(path));
  const [large, setLarge] = useState(false);
  useEffect(() => {
    if (url !== undefined) return;
    let current = true;
    client.request("turn/picture/read", { threadId, path }).then(
      ({ mediaType, dataBase64 }) => {
        const read = `data:${mediaType};base64,${dataBase64}`;
        if (known.size >= MOST) known.delete(known.keys().next().value as string);
        known.set(path, read);
        if (current) setUrl(read);
      },
      // A picture of the workspace is addressed by its path.
      () => {},
    );
    return () => {
      current = false;
    };
  }, [client, threadId, path, url]);
  if (url === undefined) return <code className="picture-name">{name}</code>;
  return (
    <>
      <button type="button" className="picture" aria-label={`Show ${name}`} title={name} onClick={() => setLarge(true)}>
        <img src={url} alt={name} />
      </button>
      {large && (
        <Dialog title={name} wide onClose={() => setLarge(false)}>
          <img className="picture-whole" src={url} alt={name} />
        </Dialog>
      )}
    </>
  );
}
