import { useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** A link to a page that is known by its path below `/app`; a new tab or window is the browser's to open. */
export function PathLink({
  path,
  className = '',
  onFollow,
  children,
}: {
  path: string
  className?: string
  /** However it is followed. */
  onFollow?: () => void
  children: ReactNode
}) {
  const router = useRouter()
  return (
    <a
      href={`/app${path}`}
      className={`link ${className}`}
      onClick={(event) => {
        onFollow?.()
        if (event.metaKey || event.ctrlKey || event.shiftKey) return
        event.preventDefault()
        router.history.push(`/app${path}`)
      }}
    >
      {children}
    </a>
  )
}
