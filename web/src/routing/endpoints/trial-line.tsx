import { Icon } from '../../ui/icons.tsx'
import type { Trial } from './test-endpoint.ts'

/**
 * The line of a test on its way, or of one that nobody could ask for. The outcome of a test stands in the row: here it
 * is only said aloud.
 */
export function TrialLine({ trial }: { trial: Trial | null }) {
  return (
    <p role="status" className="text-[0.8125rem] leading-snug empty:hidden">
      {trial?.state === 'running' && <span className="text-quiet">Asking the provider …</span>}
      {trial?.state === 'failed' && (
        <span className="inline-flex items-start gap-1 text-seal">
          <Icon name="alert" className="mt-px size-3.5" />
          {trial.why}
        </span>
      )}
      {trial?.state === 'done' && (
        <span className="sr-only">{trial.result.ok ? 'The provider answers.' : 'The provider does not answer.'}</span>
      )}
    </p>
  )
}
