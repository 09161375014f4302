import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

/** Screen readers don't announce client-side navigations, so this announces the page title. */
export function Announce() {
  const { pathname } = useLocation()
  const [title, setTitle] = useState('')
  useEffect(() => {
    // After the page has set its title.
    const timer = setTimeout(() => setTitle(document.title), 100)
    return () => clearTimeout(timer)
  }, [pathname])
  return (
    <p aria-live="polite" className="sr-only">
      {title}
    </p>
  )
}
