import type { Provider } from '../shared/api.ts'
import { Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { Words } from '../ui/text/words.tsx'
import { statuses } from '../shared/providers/words.ts'

type Standing = Pick<
  Provider,
  'status' | 'status_reason' | 'last_error' | 'last_error_at' | 'last_success_at' | 'latency_ms'
>

export function StatusTag({ status }: Pick<Standing, 'status'>) {
  const { words, tone } = statuses[status] ?? { words: status, tone: 'plain' }
  return <Tag tone={tone}>{words}</Tag>
}

export function StandingLines({
  of: { status, status_reason, last_error, last_error_at, last_success_at, latency_ms },
}: {
  of: Standing
}) {
  const isBad = status !== 'working' && status !== 'untested'
  return (
    <div className="text-[0.8125rem] leading-snug text-quiet">
      {status_reason && (
        <p className={isBad ? 'text-seal' : ''}>
          <Words>{status_reason}</Words>
        </p>
      )}
      {last_success_at && (
        <p className="figures">
          Last response <Ago time={last_success_at} />
          {latency_ms !== null && <> in {latency_ms} ms</>}
        </p>
      )}
      {last_error && last_error_at && (
        <p className="break-words">
          Last error <Ago time={last_error_at} />: {last_error}
        </p>
      )}
    </div>
  )
}
