import { useQuery } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Ago } from '../../ui/text/time.tsx'
import { size } from '../words.ts'
import { type Install, installsQuery, isGoing, modelsQuery, refreshModels } from './queries.ts'

/** Older failures are hidden. */
const NEWS_MS = 3_600_000

const phases = {
  resolving: 'Resolving',
  downloading: 'Downloading',
  verifying: 'Verifying',
  loading: 'Loading',
  removing: 'Removing',
} as const

/** The server's message; for a full disk, with readable sizes. */
function whyNot(error: Install['error']): string | undefined {
  const { free_bytes: free, needed_bytes: needed } = error?.details ?? {}
  if (error?.type !== 'storage_full' || typeof free !== 'number') return error?.message
  const more = typeof needed === 'number' ? `, and the model needs ${size(needed)} more` : ''
  return `The computer has ${size(free)} of disk space left${more}. Free up space and install the model again. The download resumes.`
}

export function Installs({ id, ready }: { id: string; ready: boolean }) {
  const { data: installs = [] } = useQuery(installsQuery(id))
  const shown = installs.filter(
    (one) => isGoing(one) || (one.status === 'failed' && Date.now() - Date.parse(one.created_at) < NEWS_MS),
  )
  if (shown.length === 0) return null
  return (
    <ul aria-label="Installations" className="mb-4 divide-y divide-line border border-line bg-sheet">
      {shown.map((one) => (
        <Row key={one.id} id={id} install={one} ready={ready} />
      ))}
    </ul>
  )
}

function Row({ id, install, ready }: { id: string; install: Install; ready: boolean }) {
  const { phase, bytes_done, bytes_total, local_model_id, status, error, created_at, cancel_requested_at } = install
  const { data: models } = useQuery(modelsQuery(id))
  const what = local_model_id === null ? 'Engine' : (models?.find((one) => one.id === local_model_id)?.name ?? 'Model')
  const cancelling = useSend(uk.computers.cancel_local_operation, () => refreshModels(id))
  if (status === 'failed')
    return (
      <li className="px-4 py-3 text-sm">
        <p>
          <span className="font-medium">{what}</span> failed to install <Ago time={created_at} />.
        </p>
        <p className="break-words text-seal">{whyNot(error)}</p>
      </li>
    )
  const share = bytes_total ? Math.min(1, bytes_done / bytes_total) : null
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3 text-sm">
      <div className="min-w-0 flex-1 basis-60">
        <p>
          <span className="font-medium">{what}</span>{' '}
          <span className="text-quiet">{phase === null ? 'waits' : phases[phase]}</span>
        </p>
        <progress
          aria-label={`Installation progress of ${what}`}
          {...(share !== null && { value: share })}
          max={1}
          className="mt-1 block w-full"
        />
        <p className="figures mt-0.5 text-[0.8125rem] text-quiet">
          {size(bytes_done)}
          {bytes_total !== null && ` of ${size(bytes_total)}`}
        </p>
        <Refused>{cancelling.rest()}</Refused>
      </div>
      {ready && (
        <Button
          aria-label={`Cancel installation of ${what}`}
          pending={cancelling.pending || cancel_requested_at !== null}
          onClick={() => void cancelling.send({ id, operation_id: install.id })}
        >
          Cancel
        </Button>
      )}
    </li>
  )
}
