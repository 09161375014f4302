import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { namesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Ago } from '../../ui/text/time.tsx'
import { backTo } from '../editor/draft.ts'
import { type AgentVersion, refreshAgents, versionsQuery } from '../queries.ts'
import { type Agent, agentsInQuery } from '../../shared/agents/queries.ts'
import { changesBetween } from './changes.ts'
import { Differences } from './differences.tsx'

export function Versions({ agent, mayChange }: { agent: Agent; mayChange: boolean }) {
  const { id, workspace_id, version: present } = agent
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(versionsQuery(id))
  const { data: names } = useQuery({ ...namesQuery(workspace_id), retry: false })
  const { data: agents = [] } = useQuery({ ...agentsInQuery(workspace_id), retry: false })
  const [against, setAgainst] = useState<'before' | 'present'>('before')
  const back = useSend(
    ({ version }: { version: AgentVersion }) => uk.agents.update({ id, ...backTo(version) }),
    async (saved, { version }) => {
      await refreshAgents()
      say(`Restored version ${version.version} as version ${saved.version}`)
    },
  )
  const rows = data?.pages.flatMap((page) => page.rows)
  if (error && !rows) return <Failure what="The versions" error={error} again={refetch} />
  if (!rows) return <Waiting what="the versions" />
  const nameOf = (one: string): string => agents.find((other) => other.id === one)?.name ?? 'an agent'
  const newest = rows[0]
  return (
    <>
      <fieldset className="mb-4 flex flex-wrap items-center gap-x-5 gap-y-1 text-sm">
        <legend className="sr-only">Compare with</legend>
        {(
          [
            ['before', 'Previous version'],
            ['present', 'Current version'],
          ] as const
        ).map(([value, words]) => (
          <label key={value} className="flex items-center gap-2">
            <input
              type="radio"
              name="against"
              value={value}
              checked={against === value}
              onChange={() => setAgainst(value)}
            />
            {words}
          </label>
        ))}
      </fieldset>
      <Refused>{back.rest()}</Refused>
      <ol aria-label="Versions" className="divide-y divide-line border border-line border-t-keyline bg-sheet">
        {rows.map((version, at) => {
          const before = rows[at + 1]
          const who = version.created_by === null ? null : names?.get(version.created_by)
          const isPresent = version.version === present
          const changes =
            against === 'present'
              ? newest && !isPresent
                ? changesBetween(version, newest, nameOf)
                : null
              : before
                ? changesBetween(before, version, nameOf)
                : null
          return (
            <li key={version.id} className="px-4 py-3">
              <div className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1">
                <h2 className="figures font-medium">Version {version.version}</h2>
                {isPresent && <Tag tone="good">current</Tag>}
                <p className="min-w-0 flex-1 basis-40 text-sm text-quiet">
                  <Ago time={version.created_at} />
                  {who && ` by ${who}`}
                </p>
                {mayChange && !isPresent && (
                  <Button onClick={() => void back.send({ version })}>
                    Restore<span className="sr-only"> version {version.version}</span>
                  </Button>
                )}
              </div>
              {changes !== null ? (
                <Differences
                  changes={changes}
                  none={against === 'present' ? 'Same as the current version.' : 'No changes.'}
                />
              ) : (
                version.version === 1 && <p className="text-sm text-quiet">Initial version</p>
              )}
            </li>
          )
        })}
      </ol>
      {hasNextPage && (
        <Button className="mt-3" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show earlier versions
        </Button>
      )}
    </>
  )
}
