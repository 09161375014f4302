import { useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export function PathLink({
  path,
  className = '',
  onFollow,
  children,
}: {
  path: string
  className?: string
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
