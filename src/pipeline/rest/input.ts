import type { IncomingMessage } from 'node:http'
import type { Context } from '#infra/context.ts'
import { anonymous } from '#core/principal.ts'
import type { Entry } from '#core/registry.ts'
import { readHeaders, readJson, readJsonParts, readPath, readQuery } from './read.ts'
import { isMultipart, readMultipart, readRaw } from './upload/upload.ts'
import { parse } from '../parse.ts'
import type { Versions } from '../version.ts'
import { refuse } from '#core/errors.ts'

interface ReceivedCall {
  entry: Entry<Context>
  values: readonly string[]
  request: IncomingMessage
  search: string
  /** Released when the response ends; until then the body counts against the caller. */
  resources: DisposableStack
}

export async function readInput(
  ctx: Context,
  call: ReceivedCall,
  versions: Versions,
): Promise<Record<string, unknown>> {
  const { entry, values, request } = call
  const search = withLastEventId(entry, request, call.search)
  const query = search === '' ? {} : readQuery(search, entry.query)
  const body = await readBody(ctx, call, search !== '')
  const inHeaders = entry.headers && parse(entry.headers, readHeaders(request.headers, entry.headers))
  if (ctx.version === versions.newest) {
    return {
      ...inHeaders,
      ...((search === '' && entry.emptyQuery) || parse(entry.query, query)),
      ...(entry.body && parse(entry.body, body)),
      ...readPath(entry.endpoint, values),
    }
  }
  const liftedInput = versions.lift(ctx.version, entry.name, { ...query, ...body })
  const inBody = (name: string): boolean =>
    entry.body !== null && (name in entry.body.shape || !(name in entry.query.shape))
  const parts = Object.groupBy(Object.entries(liftedInput), ([name]) => (inBody(name) ? 'body' : 'query'))
  return {
    ...inHeaders,
    ...parse(entry.query, Object.fromEntries(parts.query ?? [])),
    ...(entry.body && parse(entry.body, Object.fromEntries(parts.body ?? []))),
    ...readPath(entry.endpoint, values),
  }
}

async function readBody(
  ctx: Context,
  { entry: { endpoint, body }, request, resources }: ReceivedCall,
  hasQuery: boolean,
): Promise<Record<string, unknown>> {
  if (endpoint.decodes === undefined && (body !== null || endpoint.takes !== undefined)) checkPlain(request)
  if (endpoint.takes === 'bytes' || (endpoint.takes === 'bytes_or_json' && hasQuery)) {
    ctx.upload = readRaw(request)
    return {}
  }
  if (endpoint.takes === 'multipart' && isMultipart(request.headers)) {
    const { fields, upload } = await readMultipart(request, endpoint.parts)
    ctx.upload = upload
    return body === null ? fields : readJsonParts(fields, body)
  }
  return body === null ? {} : readJson(request, endpoint, body, senderOf(ctx, request), resources)
}

/** Refuses encoded bodies, which would be stored or parsed as garbage. */
function checkPlain({ headers }: IncomingMessage): void {
  const coding = headers['content-encoding']
  if (coding === undefined || /^[\s,]*(?:identity[\s,]*)*$/i.test(coding)) return
  refuse('unsupported_media_type', {
    message: 'This endpoint doesn’t accept compressed bodies. Send the body without `Content-Encoding`.',
    details: { accepted: ['identity'] },
    headers: { 'accept-encoding': 'identity' },
  })
}

const senderOf = ({ principal }: Context, { socket }: IncomingMessage): string =>
  principal === anonymous ? `address ${socket.remoteAddress}` : principal.accountId

/** Browsers send the resume position in a header when they reconnect; other clients use the query. */
function withLastEventId({ query }: Entry<Context>, { headers }: IncomingMessage, search: string): string {
  const last = headers['last-event-id']
  if (typeof last !== 'string' || !('last_event_id' in query.shape) || /(^|&)last_event_id=/.test(search)) return search
  return `${search}&last_event_id=${encodeURIComponent(last)}`
}
