import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

export const hasProgram = (name: string): boolean => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
