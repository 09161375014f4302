import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { wordsOf } from './words-of.ts'

export function Missing() {
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const [words, setWords] = useState(() => wordsOf(pathname))
  useEffect(() => {
    document.title = 'Page not found · Ukiyo'
  }, [])
  return (
    <div className="mx-auto max-w-lg px-2 py-14">
      <h1 className="font-serif text-2xl">Page not found</h1>
      <p className="mt-2 text-quiet">
        No page exists at <code className="font-mono text-ink [overflow-wrap:anywhere]">/app{pathname}</code>. The
        address may be mistyped, or the page was moved.
      </p>
      <form
        role="search"
        className="mt-5 flex gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          void navigate({ to: '/search', search: words.trim() === '' ? {} : { q: words.trim() } })
        }}
      >
        <input
          type="search"
          aria-label="Search"
          className="field"
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
        <Button type="submit" look="primary">
          Search
        </Button>
      </form>
      <p className="mt-4">
        <Link to="/" className="link">
          Go to Home
        </Link>
      </p>
    </div>
  )
}

export const MissingAlone = () => (
  <main className="px-4">
    <Missing />
  </main>
)
