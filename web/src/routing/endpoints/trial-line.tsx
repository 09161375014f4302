import { plural } from '../../ui/text/format.ts'
import { Icon } from '../../ui/icons.tsx'
import type { Trial } from './test-endpoint.ts'

/** The result of a test, said also to people who do not see it. */
export function TrialLine({ trial }: { trial: Trial | null }) {
  return (
    <p role="status" className="text-[0.8125rem] leading-snug empty:hidden">
      {trial?.state === 'running' && <span className="text-quiet">Asking the provider …</span>}
      {trial?.state === 'failed' && <Bad>{trial.why}</Bad>}
      {trial?.state === 'done' &&
        (trial.result.ok ? (
          <span className="figures inline-flex items-center gap-1 text-moss">
            <Icon name="check" className="size-3.5" />
            Works · {trial.result.latency_ms} ms
            {trial.result.models_count !== null && <> · lists {plural(trial.result.models_count, 'model')}</>}
          </span>
        ) : (
          <Bad>{trial.result.error ?? 'It does not answer.'}</Bad>
        ))}
    </p>
  )
}

const Bad = ({ children }: { children: string }) => (
  <span className="inline-flex items-start gap-1 text-seal">
    <Icon name="alert" className="mt-px size-3.5" />
    {children}
  </span>
)
