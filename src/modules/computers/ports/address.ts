import type { Engine } from '#infra/context.ts'
import { type Id, parseId } from '#core/ids.ts'

export interface PreviewAddress {
  computerId: Id
  port: number
}

type Parts = Pick<Engine, 'config' | 'origin'>

/** Parses `p5173-<id>.<UK_PREVIEW_DOMAIN>`. Null: another host. */
export function previewAt(domain: string, host: string | undefined): PreviewAddress | null {
  const [, digits, id, name] = /^p(\d{1,5})-([0-9a-z]{26})\.([^:]+)(?::\d+)?$/i.exec(host ?? '') ?? []
  if (name === undefined || name.toLowerCase() !== domain.replace(/:\d+$/, '').toLowerCase()) return null
  const computerId = parseId(id!)
  const port = Number(digits)
  return computerId === null || port < 1 || port > 65_535 ? null : { computerId, port }
}

/** Null if unreachable: `localhost` is the users' own machine. */
export function previewOrigin({ config, origin }: Parts, { computerId, port }: PreviewAddress): string | null {
  const own = new URL(origin())
  const domain = config.previewDomain
  if (domain === 'localhost' && !/^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(own.hostname)) return null
  const at = domain.includes(':') || own.port === '' ? domain : `${domain}:${own.port}`
  return `${own.protocol}//p${port}-${computerId.toLowerCase()}.${at}`
}
