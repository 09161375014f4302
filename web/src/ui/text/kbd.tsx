/** A shortcut as keys: `g c` is shown as two. */
export const Keys = ({ keys }: { keys: string }) => (
  <span className="inline-flex gap-1 whitespace-nowrap">
    {keys.split(' ').map((key, at) => (
      <kbd
        key={at}
        className="inline-grid min-w-5 place-items-center rounded-xs border border-line bg-sunk px-1 font-sans text-xs leading-5 text-quiet"
      >
        {key}
      </kbd>
    ))}
  </span>
)
