import { useQuery } from '@tanstack/react-query'
import { useAccount, workspacesQuery } from '../../shared/session.ts'
import { Tag } from '../../ui/page.tsx'
import { computersQuery } from '../../shared/agents/queries.ts'
import { type Tools, missingGrants } from './tool-groups.ts'

const listFormat = new Intl.ListFormat('en', { type: 'conjunction' })

/** The computers available to the agent's workspace, and tool permissions that no computer grants. */
export function Computers({ workspaceId, tools, member }: { workspaceId: string; tools: Tools; member: boolean }) {
  const wants = tools.some(({ name, policy }) => name.startsWith('computers.') && policy !== 'deny')
  const { id: me } = useAccount()
  const { data: workspaces } = useQuery(workspacesQuery)
  const { data: computers } = useQuery({ ...computersQuery(workspaceId), enabled: wants && member })
  if (!wants || computers === undefined) return null
  const personal = workspaces?.find(({ id }) => id === workspaceId)?.kind === 'personal'
  const granted = computers.map(({ owner, allows, exposures }) => {
    const own = owner.type === 'workspace' ? owner.id === workspaceId : personal && owner.id === me
    const shared = exposures.find((one) => one.workspace_id === workspaceId)?.capabilities ?? []
    return own ? allows : shared.filter((one) => allows.includes(one))
  })
  const missing = missingGrants(tools, granted)
  return (
    <div className="mt-5">
      <h3 className="mb-2 text-sm font-medium">Available computers</h3>
      {missing.length > 0 && (
        <p role="status" className="mb-2 border-l-2 border-ochre bg-sheet py-2 pl-3 text-sm">
          {computers.length === 0
            ? `No computer is connected, so the agent can’t ${listFormat.format(missing)}. `
            : `No computer allows this workspace to ${listFormat.format(missing)}. `}
          <a className="link" href="/app/computers">
            {computers.length === 0 ? 'Connect a computer' : 'Change permissions'}
          </a>
        </p>
      )}
      {computers.length > 0 && (
        <ul aria-label="Computers" className="divide-y divide-line border border-line bg-sheet text-sm">
          {computers.map(({ id, name, connection }, at) => (
            <li key={id} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2">
              <a className="link min-w-0 break-words" href={`/app/computers/${id}`}>
                {name}
              </a>
              <Tag tone={connection === 'online' ? 'good' : 'plain'}>{connection.replace('_', ' ')}</Tag>
              <span className="min-w-0 flex-1 basis-40 text-[0.8125rem] text-quiet">
                {granted[at]!.length === 0 ? 'no permissions' : granted[at]!.join(', ').replaceAll('_', ' ')}
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
