import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { type Endpoint, uk } from '../../api.ts'
import { workspacesQuery } from '../../session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/send.ts'
import { say } from '../../ui/dialogs/toast.tsx'
import { EndpointDialog } from './endpoint-dialog.tsx'
import { ownerOf } from './endpoint-draft.ts'
import { EndpointRow } from './endpoint-row.tsx'
import { type Drop, changesFor, moved, placesOf, step } from './order.ts'
import { useDropPlace } from './use-drag.ts'
import { endpointsQuery, refreshRouting } from '../queries.ts'

interface Doing {
  change: (endpoint: Endpoint) => void
  remove: (endpoint: Endpoint) => void
}

export function Endpoints() {
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery)
  const [adding, setAdding] = useState(false)
  const editing = useOpen<Endpoint>()
  const deleting = useOpen<Endpoint>()
  const add = (
    <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
      Add provider
    </Button>
  )
  const own = endpoints?.filter(({ instance }) => !instance)
  const shared = endpoints?.filter(({ instance }) => instance)
  const owners = new Set(own?.map(ownerOf)).size
  const doing = { change: editing.show, remove: deleting.show }
  return (
    <>
      <Section
        title="Your own keys"
        about={`Providers that you bring. They are asked before any that cost credits here.${
          owners > 1
            ? ' Those of several owners stand in one order by the number of their place: equal places share the calls.'
            : ''
        }`}
        action={own?.length ? add : undefined}
      >
        {error && !own ? (
          <Failure what="Your providers" error={error} again={refetch} />
        ) : !own ? (
          <Waiting what="your providers" />
        ) : own.length === 0 ? (
          <Empty title="Bring a key of yours" action={add}>
            OpenAI, Anthropic, OpenRouter or a server of your own: give its key once, and every program with a key of
            this server can call its models, in whichever of the three wire shapes that program speaks.
          </Empty>
        ) : (
          <Owners endpoints={own} doing={doing} />
        )}
      </Section>
      {shared && shared.length > 0 && (
        <Section
          title="Keys of this instance"
          about="Providers for everybody here, on credits. They are asked after the keys that people bring themselves."
        >
          <Places endpoints={shared} doing={doing} />
        </Section>
      )}
      {/* Stays while it is closed, with what was typed; each that is added begins a new one. */}
      <EndpointDialog key={endpoints?.length} before={null} open={adding} onOpen={setAdding} />
      {editing.on && (
        <EndpointDialog
          key={`${editing.on.id} ${editing.on.updated_at}`}
          before={editing.on}
          open={editing.open}
          onOpen={editing.onOpen}
        />
      )}
      {deleting.on && (
        <Confirm
          {...deleting}
          title={`Delete ${deleting.on.name}?`}
          verb="Delete provider"
          run={async () => {
            await uk.ai_gateway.delete({ id: deleting.on!.id })
            await refreshRouting()
            say(`${deleting.on!.name} is deleted`)
          }}
        >
          <p>
            Its key is deleted with it, and calls to its models go elsewhere or are refused. What they have cost stays
            recorded.
          </p>
        </Confirm>
      )}
    </>
  )
}

/** Each owner's order is set by itself; the router lays them over one another, place by place (docs/routing.md). */
function Owners({ endpoints, doing }: { endpoints: readonly Endpoint[]; doing: Doing }) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const byOwner = [...Map.groupBy(endpoints, ownerOf)]
  const nameOf = (owner: string): string =>
    owner === 'mine'
      ? 'Only for you'
      : `For everyone in ${workspaces.find(({ id }) => id === owner)?.name ?? 'a workspace'}`
  return (
    <div className="space-y-6">
      {byOwner.map(([owner, theirs]) => (
        <div key={owner}>
          {(byOwner.length > 1 || owner !== 'mine') && <h3 className="eyebrow mb-1.5">{nameOf(owner)}</h3>}
          <Places endpoints={theirs} doing={doing} />
        </div>
      ))}
    </div>
  )
}

const ordinal = (index: number): string => (index === 0 ? 'Asked first' : index === 1 ? 'Then' : `Place ${index + 1}`)

function Places({ endpoints, doing }: { endpoints: readonly Endpoint[]; doing: Doing }) {
  const places = placesOf(endpoints)
  const { send, pending, rest } = useSend(
    async ({ next }: { next: Endpoint[][]; name: string }) => {
      try {
        for (const change of changesFor(next)) await uk.ai_gateway.update(change)
      } finally {
        await refreshRouting()
      }
    },
    (_, { next, name }) => {
      const place = next.findIndex((sharing) => sharing.some((one) => one.name === name))
      say(`${name} is in place ${place + 1} of ${next.length}`)
    },
  )
  const list = useId()
  const drop = (id: string, to: number, at: Drop) => {
    const next = pending ? null : moved(places, id, to, at)
    const name = endpoints.find((one) => one.id === id)?.name
    if (next && name !== undefined) void send({ next, name })
  }
  const mover = (endpoint: Endpoint, direction: 'up' | 'down') => {
    const next = step(places, endpoint.id, direction)
    return next && !pending ? () => void send({ next, name: endpoint.name }) : null
  }
  return (
    <>
      <ol className="divide-y divide-line border border-line border-t-keyline bg-sheet">
        {places.map((sharing, index) => (
          <Place
            key={sharing[0]!.id}
            label={ordinal(index)}
            shared={sharing.length > 1}
            list={list}
            onDrop={(id, at) => drop(id, index, at)}
          >
            {places.length > 1 || sharing.length > 1 ? (
              <p className="eyebrow px-4 pt-2.5">
                {ordinal(index)}
                {sharing.length > 1 && ', sharing the calls by weight and price'}
              </p>
            ) : null}
            {sharing.map((endpoint) => (
              <EndpointRow
                key={endpoint.id}
                endpoint={endpoint}
                up={mover(endpoint, 'up')}
                down={mover(endpoint, 'down')}
                shared={sharing.length > 1}
                alone={endpoints.length === 1}
                list={list}
                onChange={() => doing.change(endpoint)}
                onDelete={() => doing.remove(endpoint)}
              />
            ))}
          </Place>
        ))}
      </ol>
      <div className="mt-2">
        <Refused>{rest()}</Refused>
      </div>
    </>
  )
}

const marks: Record<Drop, string> = {
  before: 'shadow-[inset_0_2px_0_0_var(--color-seal)]',
  into: 'bg-ai-wash',
  after: 'shadow-[inset_0_-2px_0_0_var(--color-seal)]',
}

function Place({
  label,
  shared,
  list,
  onDrop,
  children,
}: {
  label: string
  shared: boolean
  list: string
  onDrop: (id: string, at: Drop) => void
  children: ReactNode
}) {
  const { place, over } = useDropPlace(list, onDrop)
  return (
    <li
      ref={place}
      aria-label={label}
      className={`${shared ? 'border-l-[3px] border-l-ai/60' : ''} ${over ? marks[over] : ''}`}
    >
      {children}
    </li>
  )
}
