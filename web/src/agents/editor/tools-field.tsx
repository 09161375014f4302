import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Button, IconButton } from '../../ui/button.tsx'
import { Name } from '../../ui/text/words.tsx'
import type { Policy } from '../queries.ts'
import {
  type ToolGroup,
  type Tools,
  otherTools,
  policies,
  policyOf,
  policyOfGroup,
  toolGroups,
  withPolicy,
} from './tool-groups.ts'

export function ToolsField({
  tools,
  onTools,
  locked,
  error,
}: {
  tools: Tools
  onTools: (tools: Tools) => void
  locked: boolean
  error: string | null
}) {
  const others = otherTools(tools)
  return (
    <div>
      <ul aria-label="Tools" className="divide-y divide-line border border-line border-t-keyline bg-sheet">
        {toolGroups.map((group) => (
          <Group key={group.name} group={group} tools={tools} onTools={onTools} locked={locked} />
        ))}
        {others.map(({ name, policy }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
            <code className="min-w-0 flex-1 basis-40 font-mono text-sm">
              <Name>{name}</Name>
            </code>
            <PolicySelect
              label={name}
              value={policy}
              locked={locked}
              onPolicy={(next) => onTools(withPolicy(tools, [name], next))}
            />
            <IconButton
              label={`Remove tool ${name}`}
              icon="close"
              disabled={locked}
              onClick={() => onTools(withPolicy(tools, [name], 'off'))}
            />
          </li>
        ))}
      </ul>
      {!locked && <AnotherTool tools={tools} onTools={onTools} />}
      {error && <p className="mt-1 text-[0.8125rem] font-medium text-seal">{error}</p>}
    </div>
  )
}

function Group({
  group,
  tools,
  onTools,
  locked,
}: {
  group: ToolGroup
  tools: Tools
  onTools: (tools: Tools) => void
  locked: boolean
}) {
  const shared = policyOfGroup(tools, group)
  const used = group.tools.filter(({ name }) => policyOf(tools, name) !== 'off').length
  const names = group.tools.map(({ name }) => name)
  return (
    <li>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 pt-2.5">
        <p className="min-w-0 flex-1 basis-48">
          <span className="font-medium">{group.name}</span>{' '}
          <span className="text-[0.8125rem] text-quiet">{group.about}</span>
        </p>
        <PolicySelect
          label={`All tools in ${group.name}`}
          value={shared}
          locked={locked}
          onPolicy={(policy) => onTools(withPolicy(tools, names, policy))}
        />
      </div>
      <details className="px-4 pb-2">
        <summary className="figures w-fit py-1 text-[0.8125rem] text-quiet hover:text-ink">
          {used === 0 ? `${names.length} tools` : `${used} of ${names.length} tools`}
          <span className="sr-only"> of {group.name}</span>
        </summary>
        <ul aria-label={group.name} className="mt-1 space-y-1 border-l border-line pl-3">
          {group.tools.map(({ name, does }) => (
            <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="min-w-0 flex-1 basis-40 text-sm">
                {does} <code className="font-mono text-[0.8125rem] break-all text-quiet">{name}</code>
              </span>
              <PolicySelect
                label={does}
                value={policyOf(tools, name)}
                locked={locked}
                onPolicy={(policy) => onTools(withPolicy(tools, [name], policy))}
              />
            </li>
          ))}
        </ul>
      </details>
    </li>
  )
}

function PolicySelect({
  label,
  value,
  locked,
  onPolicy,
}: {
  label: string
  value: Policy | 'off' | 'mixed'
  locked: boolean
  onPolicy: (policy: Policy | 'off') => void
}) {
  return (
    <select
      aria-label={label}
      value={value}
      disabled={locked}
      onChange={({ target }) => onPolicy(target.value as Policy | 'off')}
      className={`field min-h-8! w-40! py-1! text-sm! ${value === 'off' ? 'text-quiet' : ''}`}
    >
      {value === 'mixed' && (
        <option value="mixed" disabled>
          Custom (mixed)
        </option>
      )}
      {policies.map(([key, words]) => (
        <option key={key} value={key}>
          {words}
        </option>
      ))}
    </select>
  )
}

function AnotherTool({ tools, onTools }: { tools: Tools; onTools: (tools: Tools) => void }) {
  const id = useId()
  const [name, setName] = useState('')
  const [looked, setLooked] = useState(false)
  const { data: names = [] } = useQuery({
    queryKey: ['tools'],
    queryFn: async () => (await import('./every-tool.ts')).everyTool(),
    enabled: looked,
    staleTime: Infinity,
  })
  const add = (): void => {
    if (name.trim() !== '') onTools(withPolicy(tools, [name.trim()], 'ask'))
    setName('')
  }
  return (
    <div className="mt-3 flex flex-wrap items-end gap-2">
      <div className="min-w-0 flex-1 basis-56">
        <label htmlFor={id} className="mb-1 block text-sm font-medium">
          Other tool
        </label>
        <input
          id={id}
          list={`${id}-names`}
          value={name}
          autoComplete="off"
          spellCheck={false}
          placeholder="such as members.list"
          className="field font-mono text-sm"
          onFocus={() => setLooked(true)}
          onChange={({ target }) => setName(target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            add()
          }}
        />
        <datalist id={`${id}-names`}>
          {names.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </div>
      <Button onClick={add} disabled={name.trim() === ''}>
        Add tool
      </Button>
    </div>
  )
}
