/** A sentence of the server's: what it sets between backticks is code. */
export function Words({ children }: { children: string }) {
  const sentence = children.charAt(0).toUpperCase() + children.slice(1)
  return sentence.split('`').map((part, i) =>
    i % 2 === 1 ? (
      <code key={i} className="font-mono text-[0.92em] text-ink">
        {part}
      </code>
    ) : (
      part
    ),
  )
}
