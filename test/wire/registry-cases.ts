import { loadContracts } from '#modules/contracts.ts'
import { newId } from '#core/ids.ts'
import { list } from '#core/registry.ts'
import { values } from '#test/makers.ts'
import { type Asked, json } from './asked.ts'

/** Every endpoint of the registry: by nobody, by a caller with little to say, by HEAD, OPTIONS and a method that it lacks. */
export async function registryCases(caller: Record<string, string>, session: Record<string, string>): Promise<Asked[]> {
  return list(await loadContracts()).flatMap(({ endpoint }): Asked[] => {
    const { method, params, reply, access } = endpoint
    const path = endpoint.path.replace(/:(\w+)/g, (_: string, name: string) =>
      encodeURIComponent(params?.[name] ? String(values[name] ?? 'x') : newId()),
    )
    // A stream that began would not end.
    const target = `/v1${path}${reply.kind === 'stream' && method === 'GET' ? '?no_such_parameter=1' : ''}`
    const headers = access.kind === 'session' ? session : caller
    const body: Partial<Asked> =
      method === 'GET' ? {} : { ...json({}), headers: { 'content-type': 'application/json' } }
    return [
      { method, target, ...body },
      { method, target, ...body, headers: { ...body.headers, ...headers } },
      ...(method === 'GET' ? [{ method: 'HEAD', target, headers }] : []),
      { method: 'OPTIONS', target, status: 204 },
      { method: 'PROPFIND', target, headers, status: 405 },
    ]
  })
}
