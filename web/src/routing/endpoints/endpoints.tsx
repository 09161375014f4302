import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Endpoint, uk } from '../../shared/api.ts'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { EndpointDialog } from './endpoint-dialog.tsx'
import { type Level, levelsOf } from './levels.ts'
import type { Doing } from './endpoint-row.tsx'
import { Places } from './places.tsx'
import { endpointsQuery, providersQuery, refreshRouting } from '../../shared/providers/queries.ts'

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
        title="Your providers"
        about="Used first, before providers that cost credits. You can reorder the providers within each group below. The order of the groups is fixed, since it decides who pays and who sees your prompts."
        action={levels?.own.length ? add : undefined}
      >
        {error && !levels ? (
          <Failure what="Your providers" error={error} again={refetch} />
        ) : !levels ? (
          <Waiting what="your providers" />
        ) : levels.own.length === 0 ? (
          <Empty title="No providers yet" action={add}>
            Add your key for OpenAI, Anthropic, OpenRouter or your own server. Every program with an API key of this
            server can then call its models in any of the three API formats.
          </Empty>
        ) : (
          <Levels levels={levels.own} doing={doing} />
        )}
      </Section>
      {levels && <InstanceKeys endpoints={levels.instance} doing={doing} />}
      {levels && levels.further.length > 0 && (
        <Section
          title="Providers of your other workspaces"
          about="Used first with a key of that workspace and in its chats and automations. Elsewhere, they serve only models that no provider above has, oldest workspace first. Joining a workspace doesn’t send your prompts to its providers."
        >
          <Levels levels={levels.further} doing={doing} />
        </Section>
      )}
      {/* Stays mounted while closed, to keep the draft; starts over after each added provider. */}
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
          title={`Delete provider ${deleting.on.name}?`}
          verb="Delete provider"
          run={async () => {
            await uk.ai_gateway.delete({ id: deleting.on!.id })
            await refreshRouting()
            say(`Deleted ${deleting.on!.name}`)
          }}
        >
          <p>
            This also deletes its API key. Calls to its models use other providers or fail. The recorded costs are kept.
            You can’t undo this.
          </p>
        </Confirm>
      )}
    </>
  )
}

/** The providers of each owner, in routing order. */
function Levels({ levels, doing }: { levels: readonly Level[]; doing: Doing }) {
  return (
    <div className="space-y-6">
      {levels.map(({ owner, workspace, endpoints, changes }, index) => (
        <div key={owner}>
          {(levels.length > 1 || workspace !== null) && (
            <h3 className="eyebrow mb-1.5">{workspace === null ? 'Only for you' : `For everyone in ${workspace}`}</h3>
          )}
          {index > 0 && levels[0]!.owner === 'mine' && (
            <p className="mb-1.5 text-sm text-quiet">Used for models that your own providers don’t have.</p>
          )}
          {!changes && (
            <p className="mb-1.5 text-sm text-quiet">
              Only an admin of {workspace ?? 'the workspace'} can reorder or edit these.
            </p>
          )}
          <Places endpoints={endpoints} doing={changes ? doing : null} />
        </div>
      ))}
    </div>
  )
}

/** Only the administrator can edit the instance's providers; others see which ones are available. */
function InstanceKeys({ endpoints, doing }: { endpoints: readonly Endpoint[]; doing: Doing }) {
  const { data: providers = [] } = useQuery(providersQuery)
  const names = providers.filter(({ billing }) => billing === 'credits').map(({ name }) => name)
  if (endpoints.length === 0 && names.length === 0) return null
  return (
    <Section
      title="Instance providers"
      about="Providers for everyone on this instance, paid with credits. They are used after people’s own keys."
    >
      {endpoints.length > 0 ? (
        <Places endpoints={endpoints} doing={doing} />
      ) : (
        <p className="text-sm">
          {names.join(', ')}.{' '}
          <span className="text-quiet">Only the administrator of this instance can reorder these.</span>
        </p>
      )}
    </Section>
  )
}
