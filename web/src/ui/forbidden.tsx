import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'

/** A page that exists, and is not for this person: why, and who can change that. Without `who` it is a workspace's people. */
export function Forbidden({ said, who }: { said: string; who?: string }) {
  useEffect(() => {
    document.title = 'Not for you · Ukiyo'
  }, [])
  return (
    <div className="mx-auto max-w-lg px-2 py-14">
      <h1 className="font-serif text-2xl">You may not see this</h1>
      <p className="mt-2 text-quiet">{said}</p>
      <p className="mt-2">
        {who ?? (
          <>
            An owner or admin of{' '}
            <Link to="/workspaces" className="link">
              the workspace
            </Link>
          </>
        )}{' '}
        can give you access.
      </p>
    </div>
  )
}
