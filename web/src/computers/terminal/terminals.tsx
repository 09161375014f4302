import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { queryClient, uk } from '../../shared/api.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import type { Computer } from '../queries.ts'
import { FindBar } from './find-bar.tsx'
import { LookMenu } from './look-menu.tsx'
import { Pane, type Seat } from './pane.tsx'

type Listed = Awaited<ReturnType<typeof uk.computers.terminal>>
type Terminal = Extract<Listed, { next: unknown }>['rows'][number]

const LOOK_MS = 10_000

const terminalsQuery = (id: string) => ({
  queryKey: ['terminals', id],
  queryFn: async () => {
    const listed = await uk.computers.terminal({ id, action: 'list', limit: 100 })
    return 'next' in listed ? listed.rows : []
  },
  refetchInterval: LOOK_MS,
})

const refresh = (id: string): Promise<void> => queryClient.invalidateQueries({ queryKey: ['terminals', id] })

/** The terminals of a computer as tabs, shared by everyone with the Terminals permission. */
export function Terminals({ computer: { id, name } }: { computer: Computer }) {
  const { data: terminals, error, refetch } = useQuery(terminalsQuery(id))
  const { terminal: wanted } = useSearch({ strict: false })
  const navigate = useNavigate()
  const show = useCallback(
    (terminal: string | undefined, replace = false) =>
      void navigate({
        to: '/computers/$id/$part',
        params: { id, part: 'terminal' },
        search: terminal === undefined ? {} : { terminal },
        replace,
      }),
    [id, navigate],
  )
  const opening = useSend(uk.computers.terminal, async (opened) => {
    await refresh(id)
    if ('terminal_id' in opened) show(opened.terminal_id)
  })
  if (error && !terminals) return <Failure what="The terminals" error={error} again={refetch} />
  if (!terminals) return <Waiting what="the terminals" />
  const open = (
    <Button
      look="primary"
      icon="plus"
      pending={opening.pending}
      onClick={() => void opening.send({ id, action: 'open' })}
    >
      Open terminal
    </Button>
  )
  const refused = <Refused>{opening.rest()}</Refused>
  // The newest running terminal, unless one is selected.
  const current =
    terminals.find((one) => one.terminal_id === wanted) ??
    (wanted === undefined ? (terminals.find(({ status }) => status === 'open') ?? terminals[0]) : undefined)
  if (terminals.length === 0)
    return (
      <div className="p-4 sm:p-8">
        <Empty title="No open terminals" action={open}>
          Terminals keep running when you close this page or the server restarts. You can return from any device.
          {refused}
        </Empty>
      </div>
    )
  return (
    <Tabs
      computerId={id}
      name={name}
      terminals={terminals}
      current={current}
      show={show}
      open={open}
      refused={refused}
    />
  )
}

function Tabs({
  computerId,
  name,
  terminals,
  current,
  show,
  open,
  refused,
}: {
  computerId: string
  name: string
  terminals: readonly Terminal[]
  current: Terminal | undefined
  show: (id: string | undefined, replace?: boolean) => void
  open: ReactNode
  refused: ReactNode
}) {
  /** Terminals opened before stay mounted, so that their bell is noticed. */
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const [rang, setRang] = useState<ReadonlySet<string>>(new Set())
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map())
  const [finding, setFinding] = useState(false)
  const [found, setFound] = useState(true)
  const seat = useRef<Seat | null>(null)
  const takeSeat = useCallback((next: Seat | null) => void (seat.current = next), [])
  const closing = useOpen<Terminal>()
  const here = current?.terminal_id
  useEffect(() => {
    if (here === undefined) return
    setSeen((before) => (before.has(here) ? before : new Set([...before, here])))
    setRang((before) => new Set([...before].filter((one) => one !== here)))
    setFinding(false)
  }, [here])
  const nameOf = (one: Terminal): string =>
    one.name ?? (titles.get(one.terminal_id) || `Terminal ${terminals.length - terminals.indexOf(one)}`)
  const step = (by: number): void => {
    const at = terminals.findIndex((one) => one.terminal_id === here)
    const next = terminals[(at + by + terminals.length) % terminals.length]
    if (next) show(next.terminal_id)
  }
  const onShortcut = (which: 'find' | 'next' | 'previous'): void => {
    if (which === 'find') setFinding(true)
    else step(which === 'next' ? 1 : -1)
  }
  const close = async (one: Terminal): Promise<void> => {
    await uk.computers.terminal({ id: computerId, action: 'close', terminal_id: one.terminal_id })
    await refresh(computerId)
    if (one.terminal_id === here) show(undefined, true)
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-2 py-1.5">
        <ul aria-label="Terminals" className="flex min-w-0 flex-1 gap-1 overflow-x-auto">
          {terminals.map((one) => (
            <Tab
              key={one.terminal_id}
              terminal={one}
              label={nameOf(one)}
              here={one.terminal_id === here}
              rang={rang.has(one.terminal_id)}
              onShow={() => show(one.terminal_id)}
              onClose={() => (one.status === 'open' ? closing.show(one) : void close(one))}
            />
          ))}
        </ul>
        <LookMenu onFind={() => setFinding(true)} />
        {open}
      </div>
      {refused}
      {finding && (
        <FindBar
          found={found}
          onFind={(words, back) => seat.current?.find(words, back)}
          onClose={() => {
            setFinding(false)
            seat.current?.focus()
          }}
        />
      )}
      <div className="relative min-h-0 flex-1">
        {current === undefined && (
          <p role="status" className="p-6 text-quiet">
            This terminal was closed. Choose another one or open a new one.
          </p>
        )}
        {terminals
          .filter(({ terminal_id }) => seen.has(terminal_id) || terminal_id === here)
          .map((one) => (
            <Pane
              key={one.terminal_id}
              computerId={computerId}
              terminalId={one.terminal_id}
              label={`${nameOf(one)} of ${name}`}
              shown={one.terminal_id === here}
              seat={takeSeat}
              onBell={() => {
                if (one.terminal_id !== here) setRang((before) => new Set([...before, one.terminal_id]))
              }}
              onTitle={(title) => setTitles((before) => new Map([...before, [one.terminal_id, title]]))}
              onShortcut={onShortcut}
              onFound={setFound}
              onEnd={() => void refresh(computerId)}
            />
          ))}
      </div>
      {closing.on && (
        <Confirm
          open={closing.open}
          onOpen={closing.onOpen}
          title={`Close terminal ${nameOf(closing.on)}?`}
          verb="Close terminal"
          run={() => close(closing.on!)}
        >
          This stops the programs running in it. To keep them running, leave this page instead.
        </Confirm>
      )}
    </div>
  )
}

function Tab({
  terminal,
  label,
  here,
  rang,
  onShow,
  onClose,
}: {
  terminal: Terminal
  label: string
  here: boolean
  rang: boolean
  onShow: () => void
  onClose: () => void
}) {
  return (
    <li
      className={`flex shrink-0 items-center border-b-2 ${here ? 'border-seal bg-sheet text-ink' : 'border-transparent text-quiet'}`}
    >
      <button
        type="button"
        aria-current={here ? 'true' : undefined}
        onClick={onShow}
        className="flex h-9 max-w-52 items-center gap-1.5 pr-1 pl-3 text-sm hover:text-ink"
      >
        {rang && (
          <span className="size-2 shrink-0 rounded-full bg-seal">
            <span className="sr-only">Bell</span>
          </span>
        )}
        <span className="truncate">{label}</span>
        {terminal.status !== 'open' && <span className="text-xs">{terminal.status}</span>}
      </button>
      <IconButton label={`Close ${label}`} icon="close" className="size-8! border-0" onClick={onClose} />
    </li>
  )
}
