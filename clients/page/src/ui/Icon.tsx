//! The page's own line icons, drawn on a grid of 16.
const paths = {
  back: "M10 3 5 8l5 5",
  plus: "M8 3v10M3 8h10",
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.5-1.5L14 14",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  close: "m4 4 8 8m0-8-8 8",
  chevron: "m6 4 4 4-4 4",
  send: "M8 13V3.5M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  clip: "m13 7-5.2 5.2a3 3 0 0 1-4.3-4.3l5.6-5.5a2 2 0 0 1 2.9 2.8l-5.5 5.5a1 1 0 0 1-1.5-1.4L9.500 4.800",
  gear: "M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0-8v2m0 8v2m6-6h-2M4 8H2m10.200-4.200-1.400 1.400m-5.600 5.600-1.400 1.400m0-8.400 1.400 1.400m5.600 5.600 1.400 1.400",
  panel: "M2.500 3h11v10h-11zM10 3v10",
  check: "m3 8.500 3.500 3.500L13 4.500",
  undo: "M5.500 3 2.500 6l3 3M3 6h6.500a3.500 3.500 0 0 1 0 7H6",
  down: "M8 3v9.500M4 9l4 4 4-4",
  copy: "M5.500 5.500h8v8h-8zM3 10.500H2.500v-8h8V3",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon-svg"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.2 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
