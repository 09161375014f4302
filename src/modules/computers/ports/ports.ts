import type { Context } from '#infra/context.ts'
import type { Page } from '#core/answers.ts'
import type { Input, Output } from '#core/contract.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { cursorOf, positionOf, wholeAt } from '#core/paging.ts'
import { iso } from '#core/time.ts'
import type { portEndpoints } from '../contract-machine.ts'
import type { HasLinks } from '../link/links.ts'
import { listAll } from '../link/whole-list.ts'
import { makeTicket } from '../tickets/tickets.ts'
import { ENTER } from './admission.ts'
import { previewOrigin } from './address.ts'
import { portStore } from './store.ts'
import { dial } from './tunnel.ts'

const MAX_NAMED = 20

type Ctx = Context<HasLinks>
type Port = Output<typeof portEndpoints.label_port>

async function loadPorts(ctx: Ctx, id: string): Promise<Port[]> {
  const ports = (await listAll(ctx.engine.links, id, 'ports.list', ctx.signal)).flatMap((part) => part.ports)
  const labels = await portStore.labels(ctx.db, id)
  const closed = [...labels.keys()].filter((port) => !ports.some((one) => one.port === port))
  const url = (port: number): string | null => {
    const origin = previewOrigin(ctx.engine, { computerId: id, port })
    return origin === null ? null : `${origin}/`
  }
  return [
    ...ports.map(({ port, protocol, process, pid }) => ({
      port,
      protocol,
      process,
      pid,
      status: 'listening' as const,
    })),
    ...closed.map((port) => ({ port, protocol: null, process: null, pid: null, status: 'closed' as const })),
  ]
    .map((row) => ({ ...row, label: labels.get(row.port) ?? null, url: url(row.port) }))
    .toSorted((a, b) => a.port - b.port)
}

export async function listPorts(
  ctx: Ctx,
  { id, limit, cursor }: Input<typeof portEndpoints.ports>,
): Promise<Page<Port>> {
  const after = wholeAt(positionOf('computer_ports', id, cursor), 0) ?? 0
  const rows = (await loadPorts(ctx, id)).filter(({ port }) => port > after)
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? cursorOf('computer_ports', id, [page.at(-1)!.port]) : null }
}

export async function labelPort(ctx: Ctx, { id, port, label }: Input<typeof portEndpoints.label_port>): Promise<Port> {
  const rows = await loadPorts(ctx, id)
  await portStore.setLabel(ctx.db, { computerId: id, port }, label)
  const origin = previewOrigin(ctx.engine, { computerId: id, port })
  const closed = { port, protocol: null, process: null, pid: null, status: 'closed' as const }
  const row = rows.find((one) => one.port === port) ?? { ...closed, url: origin === null ? null : `${origin}/` }
  return { ...row, label }
}

export async function portTicket(ctx: Ctx, { id, port }: Input<typeof portEndpoints.port_ticket>) {
  const origin = previewOrigin(ctx.engine, { computerId: id, port })
  if (origin === null)
    return refuse('not_supported', {
      message: 'Previews aren’t configured on this instance. The administrator can set `UK_PREVIEW_DOMAIN`.',
      details: { reason: 'UK_PREVIEW_DOMAIN is not set' },
    })
  await checkListening(ctx, id, port)
  const { ticket, expiresAt } = await makeTicket(ctx, { computerId: id, port })
  return { url: `${origin}${ENTER}?ticket=${ticket}`, expires_at: iso(expiresAt) }
}

/** Without a listener, the ticket would only open an error page. */
async function checkListening(ctx: Ctx, id: string, port: number): Promise<void> {
  const ports = (await listAll(ctx.engine.links, id, 'ports.list', ctx.signal)).flatMap((part) => part.ports)
  if (ports.some((one) => one.port === port)) return
  // Ports that the kernel forwards to a container aren't listed.
  const tunnel = await dial(ctx.engine.links, { computerId: id, port }).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'upstream_error') return null
    throw error
  })
  if (tunnel !== null) return void tunnel.destroy()
  const listening = ports.map((one) => one.port).slice(0, MAX_NAMED)
  refuse('invalid_state', {
    param: 'port',
    message: `Nothing is listening on port ${port} of the computer. Start the program on 127.0.0.1 or ::1 and try again. ${
      listening.length === 0 ? 'No ports are open.' : `Open ports: ${listening.join(', ')}.`
    }`,
    details: { status: 'closed', allowed: ['listening'], listening },
  })
}
