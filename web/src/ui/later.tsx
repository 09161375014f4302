import { type ReactNode, Suspense, useState } from 'react'

/**
 * A button in whose place something heavy comes once it is pressed: the machinery of menus and pickers, which no page
 * needs to be drawn. It is read as soon as the pointer or the focus comes near.
 */
export function Later({
  load,
  content,
  children,
  popup = 'menu',
  ...button
}: {
  load: () => Promise<unknown>
  /** The button's content. */
  content: ReactNode
  /** The content that takes its place when it is open: a lazy component. */
  children: ReactNode
  popup?: 'menu' | 'dialog'
  className: string
  title?: string | undefined
  'aria-label'?: string
  tabIndex?: number | undefined
}) {
  const [pressed, setPressed] = useState(false)
  const near = (): void => void load().catch(() => {})
  const press = (): void => setPressed(true)
  const closed = (
    <button
      type="button"
      {...button}
      aria-haspopup={popup}
      aria-expanded={false}
      onPointerEnter={near}
      onFocus={near}
      onClick={press}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown') return
        event.preventDefault()
        press()
      }}
    >
      {content}
    </button>
  )
  return pressed ? <Suspense fallback={closed}>{children}</Suspense> : closed
}
