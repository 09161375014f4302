import { Icon } from '../../ui/icons.tsx'
import type { Trial } from './test-endpoint.ts'

/**
 * Shows a running test, or a test that couldn't start. The result is shown in the row, so here it is only announced to
 * screen readers.
 */
export function TrialLine({ trial }: { trial: Trial | null }) {
  return (
    <p role="status" className="text-[0.8125rem] leading-snug empty:hidden">
      {trial?.state === 'running' && <span className="text-quiet">Testing the provider …</span>}
      {trial?.state === 'failed' && (
        <span className="inline-flex items-start gap-1 text-seal">
          <Icon name="alert" className="mt-px size-3.5" />
          {trial.why}
        </span>
      )}
      {trial?.state === 'done' && (
        <span className="sr-only">
          {trial.result.ok ? 'The provider is working.' : 'The provider isn’t responding.'}
        </span>
      )}
    </p>
  )
}
