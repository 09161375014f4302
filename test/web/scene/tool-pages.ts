import type { ListedPage } from './listed-page.ts'
import type { Scene } from './scene.ts'

export const developerPages = ({ webhookId, requestId }: Scene): ListedPage[] => [
  { name: 'developer', path: '/app/settings/developer' },
  {
    name: 'new-key',
    path: '/app/settings/developer',
    async open(page) {
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByLabel('Custom').check()
    },
  },
  {
    name: 'requests',
    path: '/app/developer/requests',
    async open(page) {
      await page.getByRole('link', { name: 'house/gpt-4o' }).first().waitFor()
    },
  },
  {
    name: 'request',
    path: `/app/developer/requests/${requestId}`,
    async open(page) {
      await page.getByRole('list', { name: 'Attempts' }).waitFor()
    },
  },
  {
    name: 'webhooks',
    path: '/app/developer/webhooks',
    async open(page) {
      await page.getByRole('link', { name: 'Till of the shop' }).waitFor()
    },
  },
  {
    name: 'webhook',
    path: `/app/developer/webhooks/${webhookId}`,
    async open(page) {
      await page.getByRole('button', { name: /^webhook\.test/ }).click()
      await page.getByLabel('Body', { exact: true }).waitFor()
    },
  },
  {
    name: 'playground',
    path: '/app/developer/playground?op=chats_create',
    async open(page) {
      await page.getByRole('button', { name: 'Send POST' }).waitFor()
    },
  },
]

export const workPages = ({ automationId, automationRunId, agentId, operationId }: Scene): ListedPage[] => [
  {
    name: 'automation',
    path: `/app/automations/${automationId}`,
    async open(page) {
      await page.getByRole('list', { name: 'Runs' }).getByText('succeeded').waitFor()
    },
  },
  { name: 'automations', path: '/app/automations' },
  {
    name: 'new-automation',
    path: '/app/automations',
    async open(page) {
      await page.getByRole('button', { name: 'Create automation' }).click()
      await page.getByRole('combobox', { name: 'Schedule' }).fill('every weekday at nine')
      await page.getByRole('combobox', { name: 'Time zone' }).fill('Europe/Berlin')
      await page.getByText('09:00 in Europe/Berlin').first().waitFor()
    },
  },
  {
    name: 'automation-run',
    path: `/app/automations/${automationId}/runs/${automationRunId}`,
    async open(page) {
      await page.getByRole('log', { name: 'Log' }).getByText('Done').waitFor()
    },
  },
  { name: 'agents', path: '/app/agents' },
  {
    name: 'agent',
    path: `/app/agents/${agentId}`,
    async open(page) {
      await page.getByText('No computer is connected, so the agent can’t run commands.').waitFor()
    },
  },
  {
    name: 'agent-versions',
    path: `/app/agents/${agentId}?tab=versions`,
    async open(page) {
      await page.getByText('Count first. Say what to print next, and why.').first().waitFor({ state: 'attached' })
    },
  },
  { name: 'agent-uses', path: `/app/agents/${agentId}?tab=uses` },
  { name: 'operations', path: '/app/operations' },
  {
    name: 'operation',
    path: `/app/operations/${operationId}`,
    async open(page) {
      await page.getByText('succeeded').waitFor()
    },
  },
]

export const computerPages = ({ computerId }: Scene): ListedPage[] => [
  {
    name: 'computers',
    path: '/app/computers',
    async open(page) {
      await page.getByRole('link', { name: 'Print room' }).waitFor()
    },
  },
  { name: 'computer-terminal', path: `/app/computers/${computerId}/terminal` },
  { name: 'computer-models', path: `/app/computers/${computerId}/models` },
  {
    name: 'computer-grants',
    path: `/app/computers/${computerId}/grants`,
    async open(page) {
      await page.getByText('Not shared yet').waitFor()
    },
  },
  { name: 'computer-settings', path: `/app/computers/${computerId}/settings` },
]

export const drivePages = ({ folderId, fileId }: Scene): ListedPage[] => [
  {
    name: 'drive',
    path: '/app/drive',
    async open(page) {
      await page.getByRole('grid').getByRole('link', { name: 'Woodblocks' }).waitFor()
    },
  },
  {
    name: 'drive-folder',
    path: `/app/drive/f/${folderId}`,
    async open(page) {
      await page.getByRole('checkbox', { name: 'Select price.ts' }).check()
    },
  },
  {
    name: 'drive-grid',
    path: `/app/drive/f/${folderId}?view=grid`,
    async open(page) {
      await page.getByRole('grid').getByRole('link', { name: 'sold.csv' }).waitFor()
    },
  },
  {
    name: 'drive-found',
    path: `/app/drive/f/${folderId}?q=sea`,
    async open(page) {
      await page.getByRole('region', { name: 'Woodblocks/sold.csv' }).waitFor()
    },
  },
  {
    name: 'drive-file',
    path: `/app/drive/file/${fileId}?panel=versions&version=2`,
    async open(page) {
      await page.getByRole('region', { name: 'Changes', exact: true }).waitFor()
    },
  },
  {
    name: 'drive-read',
    path: `/app/drive/file/${fileId}`,
    async open(page) {
      await page.getByRole('heading', { name: 'Order of printing', exact: true }).waitFor()
    },
  },
  {
    name: 'drive-editor',
    path: `/app/drive/file/${fileId}`,
    async open(page) {
      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      await page.getByRole('textbox', { name: /^Text of/ }).waitFor()
    },
  },
  {
    name: 'drive-share',
    path: `/app/drive/file/${fileId}`,
    async open(page) {
      await page.getByRole('button', { name: 'Share', exact: true }).click()
      await page.getByText('Not shared outside its workspace yet.').waitFor()
    },
  },
  {
    name: 'drive-trash',
    path: '/app/drive/trash',
    async open(page) {
      await page.getByText('draft.txt', { exact: true }).waitFor()
    },
  },
]
