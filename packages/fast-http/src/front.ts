import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastOptions } from './connection.ts'
import { FastConnections } from './connections.ts'

/** Takes a server's new connections, and hands those with unusual requests over to it. */
export function answerFast(server: Server, options: Omit<FastOptions, 'handOver'>): FastConnections {
  const [full] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const connections = new FastConnections({ ...options, handOver: (socket) => full!.call(server, socket) })
  server.removeAllListeners('connection').on('connection', (socket: Socket) => connections.take(socket))
  return connections
}
