import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { refusal, sayError } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Forbidden } from '../../ui/forbidden.tsx'

/** What a page shows that fell over: what is known of it, to be handed to whoever runs the server. */
export function Broken({ error }: ErrorComponentProps) {
  const router = useRouter()
  const refused = refusal(error)
  if (refused?.status === 403) return <Forbidden said={refused.message} />
  return (
    <div className="mx-auto max-w-lg px-2 py-14" role="alert">
      <h1 className="font-serif text-2xl">This page can’t be shown</h1>
      <p className="mt-2 text-quiet">{refused ? sayError(error) : 'Something in the app itself has failed.'}</p>
      {refused?.requestId && (
        <p className="mt-2 text-sm text-quiet">
          Request <code className="font-mono text-ink">{refused.requestId}</code>: the log of the server knows more of
          it.
        </p>
      )}
      <div className="mt-5 flex flex-wrap gap-2">
        <Button look="primary" onClick={() => void router.invalidate()}>
          Try again
        </Button>
        <Copy text={reportOf(error)} label="Copy a report" />
        <Button look="quiet" onClick={() => location.assign('/app')}>
          Go to the start
        </Button>
      </div>
    </div>
  )
}

/** The report of an error: where and what, and nothing of what was on the page. */
const reportOf = (error: unknown): string =>
  [
    `page: ${location.pathname}`,
    `at: ${new Date().toISOString()}`,
    `request: ${refusal(error)?.requestId ?? 'none'}`,
    `browser: ${navigator.userAgent}`,
    error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error),
  ].join('\n')

/** The same where no shell stands around it. */
export const BrokenAlone = (props: ErrorComponentProps) => (
  <main className="px-4">
    <Broken {...props} />
  </main>
)
