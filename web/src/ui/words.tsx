/** A sentence of the server's: what it sets between backticks is code. */
export function Words({ children }: { children: string }) {
  return children.split('`').map((part, i) =>
    i % 2 === 1 ? (
      // oxlint-disable-next-line react/no-array-index-key -- the parts of one sentence never change places
      <code key={i} className="font-mono text-[0.92em] text-ink">
        {part}
      </code>
    ) : (
      part
    ),
  )
}
