import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/facts.tsx'
import { Icon, type IconName } from '../ui/icons.tsx'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Page, Rows, Section, Tag, type Tone } from '../ui/page.tsx'
import { plural } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'

const instanceQuery = queryOptions({ queryKey: ['instance'], queryFn: () => uk.instance.get() })
/** Checks contact the mail server and other services, so they don't repeat automatically. */
const checksQuery = queryOptions({
  queryKey: ['instance-checks'],
  queryFn: () => uk.instance.check(),
  staleTime: 300_000,
  retry: false,
})

type Instance = Awaited<ReturnType<typeof uk.instance.get>>
type Check = Awaited<ReturnType<typeof uk.instance.check>>['checks'][number]

export function InstancePage() {
  const checks = useQuery(checksQuery)
  const { data: instance, error, refetch } = useQuery(instanceQuery)
  return (
    <Page
      title="Instance"
      lead="The health of this server, and problems to fix."
      action={
        <Button look="primary" pending={checks.isFetching} onClick={() => void checks.refetch()}>
          Run checks again
        </Button>
      }
    >
      <Section
        title="Checks"
        about={
          checks.data && (
            <>
              {tally(checks.data.checks)} Last checked <Ago time={checks.data.created_at} />. Run <code>uk doctor</code>{' '}
              on the host for the same checks.
            </>
          )
        }
      >
        {checks.error && !checks.data ? (
          <Failure what="The checks" error={checks.error} again={checks.refetch} />
        ) : !checks.data ? (
          <Waiting what="the checks" rows={6} />
        ) : (
          <Rows label="Checks">
            {checks.data.checks.toSorted(byUrgency).map((check) => (
              <CheckRow key={check.name} check={check} />
            ))}
          </Rows>
        )}
      </Section>
      <Section title="Details">
        {error && !instance ? (
          <Failure what="The instance" error={error} again={refetch} />
        ) : !instance ? (
          <Waiting what="the instance" rows={4} />
        ) : (
          <FactList instance={instance} />
        )}
      </Section>
    </Page>
  )
}

const looks: Record<Check['status'], { word: string; tone: Tone; icon: IconName; colour: string; rank: number }> = {
  fail: { word: 'problem', tone: 'bad', icon: 'close', colour: 'text-seal', rank: 0 },
  warn: { word: 'warning', tone: 'warn', icon: 'alert', colour: 'text-ochre', rank: 1 },
  ok: { word: 'OK', tone: 'good', icon: 'check', colour: 'text-moss', rank: 2 },
  off: { word: 'off', tone: 'plain', icon: 'stop', colour: 'text-quiet', rank: 3 },
}
const byUrgency = (a: Check, b: Check): number => looks[a.status].rank - looks[b.status].rank

function tally(checks: readonly Check[]): string {
  const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length
  const [failed, warned] = [count('fail'), count('warn')]
  if (failed + warned === 0) return 'All checks passed.'
  return `${plural(failed, 'problem')}, ${plural(warned, 'warning')}.`
}

function CheckRow({ check: { name, status, message, advice } }: { check: Check }) {
  const { word, tone, icon, colour } = looks[status]
  return (
    <li className="flex items-start gap-3 px-4 py-3">
      <Icon name={icon} className={`mt-1 size-4 ${colour}`} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline gap-x-2 font-medium">
          {name === 'public url' ? 'Public URL' : name[0]!.toUpperCase() + name.slice(1)} <Tag tone={tone}>{word}</Tag>
        </p>
        <p className="text-sm break-words">{message}</p>
        {advice !== null && status !== 'ok' && (
          <p className="text-[0.8125rem] break-words text-quiet">{withCode(advice)}</p>
        )}
      </div>
    </li>
  )
}

const withCode = (words: string): ReactNode =>
  words.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))

function FactList({ instance }: { instance: Instance }) {
  const { versions, processes, accounts, storage, queue, last_backup, mail, identity_provider, sign_up } = instance
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Version', `${versions.program}, API of ${versions.api}`],
    [
      'Runs on',
      `Node ${versions.node}, PostgreSQL ${versions.postgres} (${storage.embedded ? 'built in' : 'DATABASE_URL'})`,
    ],
    ['Processes', plural(processes, 'server process', 'server processes')],
    ['Accounts', String(accounts)],
    ['Database', sizeWords(storage.database_bytes)],
    ['Files', `${sizeWords(storage.file_bytes)} in ${storage.blobs === 'file:' ? 'the data dir' : storage.blobs}`],
    [
      'Queue',
      `${queue.waiting} waiting, ${queue.running} running${queue.late > 0 ? `, ${queue.late} late` : ''}${queue.failed > 0 ? `, ${queue.failed} failed` : ''}`,
    ],
    [
      'Last backup',
      last_backup ? (
        <>
          <Ago time={last_backup.at} />, {last_backup.where}
        </>
      ) : (
        'No backups yet'
      ),
    ],
    ['Sign-up', sign_up === 'open' ? 'Open to everyone' : 'By invitation only'],
    ['Mail', mail ? 'Configured' : 'Not configured. Invitations are shared as links.'],
    ['Identity provider', identity_provider ?? 'None'],
  ]
  return <Facts facts={facts} />
}

function sizeWords(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = bytes === 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** step).toLocaleString(undefined, { maximumFractionDigits: step === 0 ? 0 : 1 })} ${units[step]}`
}
