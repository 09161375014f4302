import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type ComponentType, type LazyExoticComponent, Suspense, lazy, useEffect, useState } from 'react'
import { uk } from '../shared/api.ts'
import { refusal } from '../ui/calls/errors.ts'
import { Button } from '../ui/button.tsx'
import { Empty, Failure, Refused, Waiting } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { useManages } from './holding/grants.tsx'
import { firstPartOf } from './place.ts'
import { type Computer, computerQuery, refreshComputers } from './queries.ts'
import { LastSeen, Reason, State } from './state.tsx'
import { type Part, partWords, parts, reachOf, standingOf } from './words.ts'

const shows: Record<Part, LazyExoticComponent<ComponentType<{ computer: Computer }>>> = {
  terminal: lazy(async () => ({ default: (await import('./terminal/terminals.tsx')).Terminals })),
  files: lazy(async () => ({ default: (await import('./files/files.tsx')).Files })),
  ports: lazy(async () => ({ default: (await import('./machine/ports.tsx')).Ports })),
  models: lazy(async () => ({ default: (await import('./models/models.tsx')).Models })),
  users: lazy(async () => ({ default: (await import('./machine/users.tsx')).Users })),
  grants: lazy(async () => ({ default: (await import('./holding/grants.tsx')).Grants })),
  settings: lazy(async () => ({ default: (await import('./holding/settings.tsx')).Settings })),
}
const isPart = (word: string | undefined): word is Part => (parts as readonly string[]).includes(word ?? '')

export function ComputerPage() {
  const { id = '', part } = useParams({ strict: false })
  const { data: computer, error, refetch } = useQuery(computerQuery(id))
  if (!computer || (error && refusal(error)?.status === 404))
    return (
      <div className="mx-auto max-w-5xl px-4 pt-8 pb-24 sm:px-8 lg:px-12 lg:pt-12">
        <Page title="Computer" lead="A computer you own, or one shared with you.">
          {refusal(error)?.status === 404 ? (
            <Gone />
          ) : error ? (
            <Failure what="This computer" error={error} again={refetch} />
          ) : (
            <Waiting what="the computer" />
          )}
        </Page>
      </div>
    )
  return <Whole key={id} computer={computer} part={isPart(part) ? part : firstPartOf(computer)} />
}

function Gone() {
  return (
    <section>
      <h2 className="sr-only">Not found</h2>
      <Empty title="Not found, or you don’t have access">
        Its owner can share it with one of your workspaces.{' '}
        <Link className="link" to="/computers">
          Show your computers
        </Link>
      </Empty>
    </section>
  )
}

function Whole({ computer, part }: { computer: Computer; part: Part }) {
  const { name } = computer
  const standing = standingOf(computer, part)
  const Shown = shows[part]
  useEffect(() => {
    document.title = `${partWords[part]} · ${name} · Ukiyo`
  }, [name, part])
  // Terminals stay open while the machine is briefly offline: typed input is queued.
  const [stood, setStood] = useState(false)
  if (standing.ready && !stood) setStood(true)
  const stays = part === 'terminal' && stood && computer.my_capabilities.includes('terminal')
  const shown = (standing.ready || stays) && (
    <Suspense fallback={null}>
      <Shown computer={computer} />
    </Suspense>
  )
  if (part === 'terminal')
    return (
      <div className="flex h-[calc(100dvh-3.375rem)] min-h-96 flex-col lg:h-dvh">
        <Head computer={computer} part={part} />
        <h2 className="sr-only">Terminals</h2>
        {!standing.ready && (
          <div className="p-4 sm:px-8">
            <Reason standing={standing} />
          </div>
        )}
        {shown}
      </div>
    )
  return (
    <>
      <Head computer={computer} part={part} />
      <div className="mx-auto max-w-5xl px-4 pt-6 pb-24 sm:px-8">
        <Reason standing={standing} />
        {shown}
      </div>
    </>
  )
}

function Head({ computer, part: here }: { computer: Computer; part: Part }) {
  const { id, name } = computer
  const reach = reachOf(computer)
  return (
    <header className="border-b border-line px-4 pt-3 sm:px-6">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 className="min-w-0 font-serif text-xl leading-tight break-words">{name}</h1>
        <State computer={computer} />
        <p className="min-w-0 flex-1 text-[0.8125rem] text-quiet">
          <LastSeen computer={computer} />
        </p>
        {computer.kind === 'cloud' && <Power computer={computer} />}
      </div>
      {!reach.ready && (here === 'settings' || here === 'grants' || here === 'models') && (
        <p className="mt-1 text-sm text-quiet">{reach.why}</p>
      )}
      <nav aria-label={`Parts of ${name}`} className="-mx-1 mt-2 overflow-x-auto">
        <ul className="flex">
          {parts.map((part) => (
            <li key={part}>
              <Link
                to="/computers/$id/$part"
                params={{ id, part }}
                search={{}}
                aria-current={part === here ? 'page' : undefined}
                className="-mb-px block border-b-2 border-transparent px-3 py-2 text-sm whitespace-nowrap text-quiet hover:text-ink aria-[current=page]:border-seal aria-[current=page]:text-ink"
              >
                {partWords[part]}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
    </header>
  )
}

function Power({ computer }: { computer: Computer }) {
  const { id, lifecycle } = computer
  const manages = useManages(computer)
  const start = useSend(uk.computers.start, refreshComputers)
  const stop = useSend(uk.computers.stop, refreshComputers)
  if (!manages) return null
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Refused>{start.rest() ?? stop.rest()}</Refused>
      {(lifecycle === 'stopped' || lifecycle === 'error') && (
        <Button look="primary" pending={start.pending} onClick={() => void start.send({ id })}>
          Start computer
        </Button>
      )}
      {(lifecycle === 'running' || lifecycle === 'starting' || lifecycle === 'error') && (
        <Button pending={stop.pending} onClick={() => void stop.send({ id })}>
          Stop computer
        </Button>
      )}
    </div>
  )
}
