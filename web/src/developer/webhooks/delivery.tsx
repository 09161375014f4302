import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Code } from '../code.tsx'
import { moment, number, plural } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import { type Delivery, refreshWebhooks } from './queries.ts'
import { DeliveryStatus } from './status.tsx'

export function DeliveryRow({ delivery, endpointOn }: { delivery: Delivery; endpointOn: boolean }) {
  const { id, endpoint_id, event_type, status, attempts, created_at, next_attempt_at, redelivery_of } = delivery
  const [open, setOpen] = useState(false)
  const again = useSend(uk.webhooks.redeliver, async () => {
    await refreshWebhooks()
    say(`Resending ${event_type}`)
  })
  const last = attempts.at(-1)
  return (
    <div>
      <div className="figures flex flex-wrap items-center gap-x-4 gap-y-1.5 text-sm">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex min-w-0 flex-1 basis-64 flex-wrap items-baseline gap-x-3 gap-y-1 text-left"
        >
          <code className="font-mono break-all">{event_type}</code>
          <DeliveryStatus status={status} />
          <span className="text-[0.8125rem] text-quiet">
            {plural(attempts.length, 'attempt')}
            {last && ` · ${sayAttempt(last)}`}
            {redelivery_of && ' · resent manually'}
          </span>
        </button>
        <span className="text-[0.8125rem] text-quiet">
          {next_attempt_at !== null && attempts.length > 0 ? (
            <>
              next attempt <Ago time={next_attempt_at} />
            </>
          ) : (
            <Ago time={created_at} />
          )}
        </span>
        <Button
          look="quiet"
          pending={again.pending}
          disabled={!endpointOn}
          aria-label={`Resend ${event_type}`}
          onClick={() => void again.send({ id: endpoint_id, delivery_id: id })}
        >
          Resend
        </Button>
      </div>
      <Refused>{again.rest()}</Refused>
      {open && <Opened delivery={delivery} />}
    </div>
  )
}

const sayAttempt = ({ response_status, error, duration_ms }: Delivery['attempts'][number]): string =>
  response_status === null ? (error ?? 'no response') : `${response_status} in ${number(duration_ms)} ms`

function Opened({ delivery: { attempts, payload, message_id } }: { delivery: Delivery }) {
  return (
    <div className="mt-3 grid gap-5 lg:grid-cols-2">
      <div className="min-w-0">
        <h3 className="mb-1.5 text-sm font-medium">Attempts</h3>
        {attempts.length === 0 && <p className="text-sm text-quiet">No attempts yet.</p>}
        <ol className="space-y-3">
          {attempts.map((attempt, i) => (
            <li key={attempt.at} className="text-[0.8125rem]">
              <p>
                <span className="font-medium">{i + 1}.</span> {moment(attempt.at)}: {sayAttempt(attempt)}
                {attempt.error && attempt.response_status !== null && `, ${attempt.error}`}
              </p>
              {attempt.response_body && <Code label={`Response to attempt ${i + 1}`}>{attempt.response_body}</Code>}
            </li>
          ))}
        </ol>
      </div>
      <div className="min-w-0">
        <h3 className="mb-1.5 text-sm font-medium">Payload</h3>
        <p className="mb-1.5 text-[0.8125rem] break-all text-quiet">
          <code className="font-mono">webhook-id: {message_id}</code>
        </p>
        <Code label="Body">{inLines(payload)}</Code>
      </div>
    </div>
  )
}

function inLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
