import { queryOptions, useQuery } from '@tanstack/react-query'
import { type Session, everyRow, queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { date } from '../ui/text/format.ts'
import { Failure, Refused, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { say } from '../ui/toast/toast.tsx'
import { sayAgent } from './user-agent.ts'

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: () => everyRow(uk.auth.sessions({ limit: 100 })),
})

export function Sessions() {
  const { data: sessions, error, refetch } = useQuery(sessionsQuery)
  const others = useSend(uk.ways_in.end_other_sessions, async () => {
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
    say('All other sessions have ended')
  })
  return (
    <Section
      title="Sessions"
      about="Where you’re signed in. End any session you don’t recognize, then change your password."
      action={
        sessions && sessions.length > 1 ? (
          <Button pending={others.pending} onClick={() => void others.send({})}>
            End all other sessions
          </Button>
        ) : undefined
      }
    >
      <div className="mb-3 empty:hidden">
        <Refused>{others.rest()}</Refused>
      </div>
      {error && !sessions ? (
        <Failure what="Your sessions" error={error} again={refetch} />
      ) : !sessions ? (
        <Waiting what="your sessions" rows={1} />
      ) : (
        <Rows label="Sessions">
          {sessions.map((session) => (
            <SessionRow key={session.id} session={session} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function SessionRow({ session }: { session: Session }) {
  const { id, user_agent, ip, last_used_at, created_at, expires_at, current } = session
  const { send, pending, rest } = useSend(uk.auth.end_session, async () => {
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
    say('Session ended')
  })
  const name = sayAgent(user_agent)
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-2 font-medium" title={user_agent ?? undefined}>
          {name} {current && <Tag tone="ai">this session</Tag>}
        </p>
        <p className="text-[0.8125rem] text-quiet">
          {ip && <>{ip} · </>}signed in <Ago time={created_at} /> · used <Ago time={last_used_at ?? created_at} /> ·
          until {date(expires_at)}
        </p>
        <Refused>{rest()}</Refused>
      </div>
      {!current && (
        <Button pending={pending} aria-label={`End session ${name}`} onClick={() => void send({ id })}>
          End session
        </Button>
      )}
    </li>
  )
}
