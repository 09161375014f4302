import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { sayError } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Seal } from '../ui/icons.tsx'

export function Broken({ error }: ErrorComponentProps) {
  const router = useRouter()
  return (
    <main className="mx-auto max-w-lg px-6 py-24" role="alert">
      <Seal className="mb-6 size-11" />
      <h1 className="font-serif text-2xl">This page can’t be shown</h1>
      <p className="mt-2 text-quiet">{sayError(error)}</p>
      <div className="mt-5 flex gap-2">
        <Button look="primary" onClick={() => void router.invalidate()}>
          Try again
        </Button>
        <Button onClick={() => location.assign('/app')}>Go to the start</Button>
      </div>
    </main>
  )
}

export function Missing() {
  return (
    <main className="mx-auto max-w-lg px-6 py-24">
      <Seal className="mb-6 size-11" />
      <h1 className="font-serif text-2xl">Page not found</h1>
      <p className="mt-2 text-quiet">
        The address may be mistyped, or the page has moved.{' '}
        <a className="link" href="/app">
          Go to the start
        </a>
      </p>
    </main>
  )
}
