import { Fragment } from 'react'

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

/** A name such as `provider/model`, which goes on in a new line after a slash before it would within a word. */
export const Name = ({ children }: { children: string }) => (
  <span className="[overflow-wrap:anywhere]">
    {children.split(/(?<=[/:])/).map((part, i) => (
      <Fragment key={i}>
        {i > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </span>
)
