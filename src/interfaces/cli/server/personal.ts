import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../client.ts'

export async function personal(call: SendCall): Promise<string> {
  const answer = await call((await contracts.me()).endpoints.get, {})
  return (JSON.parse(await answer.text()) as { data: { personal_workspace_id: string } }).data.personal_workspace_id
}
