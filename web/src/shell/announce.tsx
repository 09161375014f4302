import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

/** A page that changes without being loaded is not read out by itself: its title is. */
export function Announce() {
  const { pathname } = useLocation()
  const [title, setTitle] = useState('')
  useEffect(() => {
    // After the page has named itself.
    const timer = setTimeout(() => setTitle(document.title), 100)
    return () => clearTimeout(timer)
  }, [pathname])
  return (
    <p aria-live="polite" className="sr-only">
      {title}
    </p>
  )
}
