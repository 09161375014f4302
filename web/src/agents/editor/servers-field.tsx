import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Policy, refreshAgents } from '../queries.ts'
import type { Agent } from '../../shared/agents/queries.ts'
import { serverChanges } from './draft.ts'

/**
 * Adding a server saves the agent at once, because its key is never kept here. Removing one takes effect with the next
 * save.
 */
export function ServersField({
  servers,
  onServers,
  agent,
  locked,
  unsaved,
  error,
}: {
  servers: Agent['mcp_servers']
  onServers: (servers: Agent['mcp_servers']) => void
  agent: Agent
  locked: boolean
  /** Whether there are other unsaved changes: adding a server would save without them. */
  unsaved: boolean
  error: string | null
}) {
  const [open, setOpen] = useState(false)
  return (
    <div className="mt-5">
      <h3 className="mb-2 text-sm font-medium">MCP servers</h3>
      {servers.length > 0 && (
        <ServerList
          servers={servers}
          locked={locked}
          onRemove={(name) => onServers(servers.filter((one) => one.name !== name))}
        />
      )}
      {error && <p className="mb-2 text-[0.8125rem] font-medium text-seal">{error}</p>}
      <Button icon="plus" disabled={locked || unsaved} onClick={() => setOpen(true)}>
        Add MCP server
      </Button>
      <AddServer agent={agent} open={open} onOpen={setOpen} />
    </div>
  )
}

function ServerList({
  servers,
  locked,
  onRemove,
}: {
  servers: Agent['mcp_servers']
  locked: boolean
  onRemove: (name: string) => void
}) {
  return (
    <ul aria-label="MCP servers" className="mb-3 divide-y divide-line border border-line bg-sheet text-sm">
      {servers.map((server) => (
        <li key={server.name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
          <p className="min-w-0 flex-1 basis-52">
            <span className="font-medium">{server.name}</span>{' '}
            <span className="font-mono text-[0.8125rem] break-all text-quiet">{server.url}</span>
            {server.header_names.length > 0 && (
              <span className="block text-[0.8125rem] text-quiet">
                sends {server.header_names.join(', ')} (stored encrypted)
              </span>
            )}
          </p>
          <span className="text-quiet">
            {{ allow: 'allow', ask: 'ask', deny: 'only selected tools' }[server.policy]}
          </span>
          <IconButton
            label={`Remove server ${server.name}`}
            icon="close"
            disabled={locked}
            onClick={() => onRemove(server.name)}
          />
        </li>
      ))}
    </ul>
  )
}

function AddServer({ agent, open, onOpen }: { agent: Agent; open: boolean; onOpen: (open: boolean) => void }) {
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const [key, setKey] = useState('')
  const [policy, setPolicy] = useState<Policy>('ask')
  const sending = useSend(uk.agents.update, (saved) => {
    onOpen(false)
    setName('')
    setUrl('')
    setKey('')
    void refreshAgents()
    say(`Saved as version ${saved.version}`)
  })
  const add = (): void =>
    void sending.send({
      id: agent.id,
      mcp_servers: [
        ...agent.mcp_servers.map(serverChanges),
        { name, url, policy, ...(key !== '' && { headers: { Authorization: `Bearer ${key}` } }) },
      ],
    })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Add MCP server"
      about="A server that supports the Model Context Protocol over streamable HTTP. It is saved immediately."
      sending={sending}
      fields={[]}
      verb="Add MCP server"
      onSend={add}
    >
      <TextField
        label="Name"
        mono
        autoComplete="off"
        value={name}
        onValue={setName}
        hint="Lowercase letters, digits and hyphens, such as github."
      />
      <TextField
        label="URL"
        type="url"
        mono
        autoComplete="off"
        placeholder="https://mcp.example.com/mcp"
        value={url}
        onValue={setUrl}
      />
      <TextField
        label="API key"
        optional
        type="password"
        autoComplete="off"
        value={key}
        onValue={setKey}
        hint="Sent as Authorization: Bearer. Stored encrypted. It can’t be shown again."
      />
      <SelectField<Policy>
        label="Tool policy"
        value={policy}
        onValue={setPolicy}
        options={[
          ['ask', 'Ask'],
          ['allow', 'Allow'],
        ]}
      />
    </FormDialog>
  )
}
