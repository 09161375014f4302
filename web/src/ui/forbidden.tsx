import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'

/** The page for missing permissions. `who` can grant access; by default the admins of the workspace. */
export function Forbidden({ said, who }: { said: string; who?: string }) {
  useEffect(() => {
    document.title = 'No access · Ukiyo'
  }, [])
  return (
    <div className="mx-auto max-w-lg px-2 py-14">
      <h1 className="font-serif text-2xl">You don’t have access to this page</h1>
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
