import type { Page } from 'playwright-core'

interface Node {
  nodeId: string
  ignored: boolean
  role?: { value: string }
  name?: { value: string }
  childIds?: string[]
}

/** The accessibility tree in screen reader order: `role name`. */
export async function screenReaderOrder(page: Page, roles: readonly string[]): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: Node[] }
  await session.detach()
  const byId = new Map(nodes.map((node) => [node.nodeId, node]))
  const walk = ({ ignored, role, name, childIds = [] }: Node): string[] => [
    ...(!ignored && role && roles.includes(role.value) ? [`${role.value} ${name?.value ?? ''}`.trim()] : []),
    ...childIds.flatMap((id) => (byId.has(id) ? walk(byId.get(id)!) : [])),
  ]
  return nodes[0] ? walk(nodes[0]) : []
}
