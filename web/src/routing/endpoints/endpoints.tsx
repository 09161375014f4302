import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Endpoint, uk } from '../../api.ts'
import { workspacesQuery } from '../../session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
import { EndpointDialog } from './endpoint-dialog.tsx'
import { type Level, levelsOf } from './levels.ts'
import type { Doing } from './endpoint-row.tsx'
import { Places } from './places.tsx'
import { endpointsQuery, providersQuery, refreshRouting } from '../queries.ts'

export function Endpoints() {
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery)
  const { data: workspaces } = useQuery(workspacesQuery)
  const levels = endpoints && workspaces && levelsOf(endpoints, workspaces)
  const [adding, setAdding] = useState(false)
  const [added, setAdded] = useState(0)
  const editing = useOpen<Endpoint>()
  const deleting = useOpen<Endpoint>()
  const add = (
    <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
      Add provider
    </Button>
  )
  const doing = { change: editing.show, remove: deleting.show }
  return (
    <>
      <Section
        title="Your own keys"
        about="Asked first, before any that cost credits here. Within each part below the providers are in the order in which they are asked; the parts themselves stay where they are, for they say who pays and who sees what is asked."
        action={levels?.own.length ? add : undefined}
      >
        {error && !levels ? (
          <Failure what="Your providers" error={error} again={refetch} />
        ) : !levels ? (
          <Waiting what="your providers" />
        ) : levels.own.length === 0 ? (
          <Empty title="Bring a key of yours" action={add}>
            OpenAI, Anthropic, OpenRouter or a server of your own: give its key once, and every program with a key of
            this server can call its models, in whichever of the three wire shapes that program speaks.
          </Empty>
        ) : (
          <Levels levels={levels.own} doing={doing} />
        )}
      </Section>
      {levels && <InstanceKeys endpoints={levels.instance} doing={doing} />}
      {levels && levels.further.length > 0 && (
        <Section
          title="Keys of your other workspaces"
          about="With a key of that workspace, and in its chats and automations, they are asked first. Elsewhere they serve only models that nobody above has, the oldest workspace first: joining one sends none of your prompts to its providers."
        >
          <Levels levels={levels.further} doing={doing} />
        </Section>
      )}
      {/* Stays while it is closed, with what was typed; each that is added begins a new one. */}
      <EndpointDialog key={added} before={null} open={adding} onOpen={setAdding} onDone={() => setAdded(added + 1)} />
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

/** Each owner's providers, in the order in which the owners are asked. */
function Levels({ levels, doing }: { levels: readonly Level[]; doing: Doing }) {
  return (
    <div className="space-y-6">
      {levels.map(({ owner, workspace, endpoints, changes }, index) => (
        <div key={owner}>
          {(levels.length > 1 || workspace !== null) && (
            <h3 className="eyebrow mb-1.5">{workspace === null ? 'Only for you' : `For everyone in ${workspace}`}</h3>
          )}
          {index > 0 && levels[0]!.owner === 'mine' && (
            <p className="mb-1.5 text-sm text-quiet">For models that none of those only for you has.</p>
          )}
          {!changes && (
            <p className="mb-1.5 text-sm text-quiet">
              You can’t move or change these: only an admin of {workspace ?? 'the workspace'} can.
            </p>
          )}
          <Places endpoints={endpoints} doing={changes ? doing : null} />
        </div>
      ))}
    </div>
  )
}

/** Only the administrator reads and changes the instance's endpoints; others see who serves. */
function InstanceKeys({ endpoints, doing }: { endpoints: readonly Endpoint[]; doing: Doing }) {
  const { data: providers = [] } = useQuery(providersQuery)
  const names = providers.filter(({ billing }) => billing === 'credits').map(({ name }) => name)
  if (endpoints.length === 0 && names.length === 0) return null
  return (
    <Section
      title="Keys of this instance"
      about="Providers for everybody here, on credits. They are asked after the keys that people bring themselves, whatever their place."
    >
      {endpoints.length > 0 ? (
        <Places endpoints={endpoints} doing={doing} />
      ) : (
        <p className="text-sm">
          {names.join(', ')}.{' '}
          <span className="text-quiet">You can’t move these: the administrator of this instance sets their order.</span>
        </p>
      )}
    </Section>
  )
}
