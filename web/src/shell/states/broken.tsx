import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Forbidden } from '../../ui/forbidden.tsx'

export function Broken({ error }: ErrorComponentProps) {
  const router = useRouter()
  const refused = refusal(error)
  if (refused?.status === 403) return <Forbidden said={refused.message} />
  return (
    <div className="mx-auto max-w-lg px-2 py-14" role="alert">
      <h1 className="font-serif text-2xl">This page can’t be shown</h1>
      <p className="mt-2 text-quiet">
        {refused
          ? sayError(error)
          : 'The app ran into an unexpected error. Try again, or send the error report to your administrator.'}
      </p>
      {refused?.requestId && (
        <p className="mt-2 text-sm text-quiet">
          Request <code className="font-mono text-ink">{refused.requestId}</code>. The server log has more details.
        </p>
      )}
      <div className="mt-5 flex flex-wrap gap-2">
        <Button look="primary" onClick={() => void router.invalidate()}>
          Try again
        </Button>
        <Copy text={reportOf(error)} label="Copy error report" />
        <Button look="quiet" onClick={() => location.assign('/app')}>
          Go to Home
        </Button>
      </div>
    </div>
  )
}

/** The error report. It contains nothing from the page itself. */
const reportOf = (error: unknown): string =>
  [
    `page: ${location.pathname}`,
    `at: ${new Date().toISOString()}`,
    `request: ${refusal(error)?.requestId ?? 'none'}`,
    `browser: ${navigator.userAgent}`,
    error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error),
  ].join('\n')

export const BrokenAlone = (props: ErrorComponentProps) => (
  <main className="px-4">
    <Broken {...props} />
  </main>
)
