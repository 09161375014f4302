import { Fragment } from 'react'

/** Renders a server message: text between backticks becomes code. */
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

/** A name such as `provider/model` that breaks after the slash rather than inside a word. */
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
