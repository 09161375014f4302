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
  const here = current?.terminal_id
  const { shown, rang, ring } = useShownTerminals(here)
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map())
  const [finding, setFinding] = useState(false)
  const [hasMatch, setHasMatch] = useState(true)
  const seat = useRef<Seat | null>(null)
  const takeSeat = useCallback((next: Seat | null) => void (seat.current = next), [])
  const closing = useOpen<Terminal>()
  useEffect(() => {
    if (here !== undefined) setFinding(false)
  }, [here])
  const nameOf = (one: Terminal): string =>
    one.name ?? (titles.get(one.terminal_id) || `Terminal ${terminals.length - terminals.indexOf(one)}`)
  const onShortcut = (which: 'find' | 'next' | 'previous'): void => {
    if (which === 'find') return setFinding(true)
    const at = terminals.findIndex((one) => one.terminal_id === here) + (which === 'next' ? 1 : -1)
    const next = terminals[(at + terminals.length) % terminals.length]
    if (next) show(next.terminal_id)
  }
  const close = async (one: Terminal): Promise<void> => {
    await uk.computers.terminal({ id: computerId, action: 'close', terminal_id: one.terminal_id })
    await refresh(computerId)
    if (one.terminal_id === here) show(undefined, true)
  }
  const tabOf = (one: Terminal) => ({
    terminal: one,
    label: nameOf(one),
    here: one.terminal_id === here,
    rang: rang.has(one.terminal_id),
    onShow: () => show(one.terminal_id),
    onClose: () => (one.status === 'open' ? closing.show(one) : void close(one)),
  })
  const endFinding = (): void => {
    setFinding(false)
    seat.current?.focus()
  }
  const paneProps = {
    computerId,
    seat: takeSeat,
    onShortcut,
    onFound: setHasMatch,
    onEnd: () => void refresh(computerId),
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-2 py-1.5">
        <ul aria-label="Terminals" className="flex min-w-0 flex-1 gap-1 overflow-x-auto">
          {terminals.map((one) => (
            <Tab key={one.terminal_id} {...tabOf(one)} />
          ))}
        </ul>
        <LookMenu onFind={() => setFinding(true)} />
        {open}
      </div>
      {refused}
      {finding && (
        <FindBar found={hasMatch} onFind={(words, back) => seat.current?.find(words, back)} onClose={endFinding} />
      )}
      <div className="relative min-h-0 flex-1">
        {current === undefined && <Closed />}
        {terminals
          .filter(({ terminal_id }) => shown.has(terminal_id) || terminal_id === here)
          .map((one) => (
            <Pane
              {...paneProps}
              key={one.terminal_id}
              terminalId={one.terminal_id}
              label={`${nameOf(one)} of ${name}`}
              shown={one.terminal_id === here}
              onBell={() => ring(one.terminal_id)}
              onTitle={(title) => setTitles((before) => new Map([...before, [one.terminal_id, title]]))}
            />
          ))}
      </div>
      {closing.on && <CloseTerminal {...closing} name={nameOf(closing.on)} close={() => close(closing.on!)} />}
    </div>
  )
}

const Closed = () => (
  <p role="status" className="p-6 text-quiet">
    This terminal was closed. Choose another one or open a new one.
  </p>
)

function CloseTerminal({
  name,
  open,
  onOpen,
  close,
}: {
  name: string
  open: boolean
  onOpen: (open: boolean) => void
  close: () => Promise<void>
}) {
  return (
    <Confirm open={open} onOpen={onOpen} title={`Close terminal ${name}?`} verb="Close terminal" run={close}>
      This stops the programs running in it. To keep them running, leave this page instead.
    </Confirm>
  )
}

/** Shown terminals stay mounted, so that their bell is noticed. */
function useShownTerminals(here: string | undefined) {
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set())
  const [rang, setRang] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    if (here === undefined) return
    setShown((before) => (before.has(here) ? before : new Set([...before, here])))
    setRang((before) => new Set([...before].filter((one) => one !== here)))
  }, [here])
  const ring = (id: string): void => {
    if (id !== here) setRang((before) => new Set([...before, id]))
  }
  return { shown, rang, ring }
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
