//! The switch for notifications, which asks the browser's permission first.
import { useRemembered } from "../app/remember";
import { complain } from "../ui/toast";

export function NotifySwitch() {
  const [on, setOn] = useRemembered("notify", "off");
  if (!("Notification" in window)) return null;
  const active = on === "on" && Notification.permission === "granted";

  async function change() {
    if (active) return setOn("off");
    const permission = await Notification.requestPermission();
    if (permission === "granted") setOn("on");
    else complain("The browser does not allow notifications of this page. Its settings for this site can.");
  }

  return (
    <label className="check">
      <input type="checkbox" checked={active} onChange={() => void change()} />
      Notify me
    </label>
  );
}
