import type { Page } from 'playwright-core'
import type { Scene } from './scene.ts'

/** The app's pages for signed-in users, each with an action that opens its content. */
export const pagesOf = ({
  chatId,
  temporaryId,
  automationId,
  computerId,
  webhookId,
  requestId,
  automationRunId,
  agentId,
  operationId,
  folderId,
  fileId,
}: Scene): { name: string; path: string; open?: (page: Page) => Promise<void> }[] => [
  {
    name: 'home',
    path: '/app',
    async open(page) {
      await page.getByRole('link', { name: 'Views of the mountain' }).waitFor()
    },
  },
  {
    name: 'palette',
    path: '/app',
    async open(page) {
      await page.keyboard.press('Control+k')
      await page.getByRole('option', { name: /^New chat/ }).waitFor()
    },
  },
  {
    name: 'shortcuts',
    path: '/app',
    async open(page) {
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    },
  },
  {
    name: 'welcome',
    path: '/app/welcome',
    async open(page) {
      await page.getByRole('list', { name: 'Available providers' }).waitFor()
    },
  },
  {
    name: 'search',
    path: '/app/search?q=mountain',
    async open(page) {
      await page.getByRole('list', { name: 'Results' }).waitFor()
    },
  },
  {
    name: 'nowhere',
    path: '/app/ai-routing/no/such-page',
    async open(page) {
      await page.getByRole('searchbox', { name: 'Search' }).waitFor()
    },
  },
  { name: 'developer', path: '/app/settings/developer' },
  {
    name: 'new-key',
    path: '/app/settings/developer',
    async open(page) {
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByLabel('Custom').check()
    },
  },
  { name: 'security', path: '/app/settings/security' },
  {
    name: 'providers',
    path: '/app/ai-routing',
    async open(page) {
      await page.getByRole('button', { name: 'Test provider OpenAI', exact: true }).click()
      await page.getByText('The provider is working.').waitFor({ state: 'attached' })
    },
  },
  {
    name: 'add-provider',
    path: '/app/ai-routing',
    async open(page) {
      await page.getByRole('button', { name: 'Add provider' }).click()
      await page.getByLabel('API key').waitFor()
    },
  },
  {
    name: 'preview',
    path: '/app/ai-routing/preview',
    async open(page) {
      await page.getByLabel('Model', { exact: true }).fill('gpt-4o')
      await page.getByLabel('Max. output tokens').fill('2000')
      await page.getByLabel('Input tokens').fill('12000')
      await page.getByLabel('Seed').fill('36')
      await page.getByText('Routing options').click()
      await page.getByLabel('Ignored providers').fill('house')
      await page.getByRole('heading', { name: 'Skipped providers' }).waitFor()
      await page.getByText('Routing options').click()
      await page.keyboard.press('Escape')
    },
  },
  {
    name: 'models',
    path: '/app/ai-routing/models',
    async open(page) {
      await page.getByRole('list', { name: 'Models' }).getByText('served by').first().waitFor()
    },
  },
  {
    name: 'workspace-keys',
    path: '/app/ai-routing/keys',
    async open(page) {
      await page.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Print shop' })
    },
  },
  {
    name: 'usage',
    path: '/app/ai-routing/usage',
    async open(page) {
      await page.getByRole('table', { name: 'By model' }).waitFor()
    },
  },
  {
    name: 'chats',
    path: '/app/chats',
    async open(page) {
      await page.getByRole('link', { name: 'Views of the mountain' }).waitFor()
    },
  },
  {
    name: 'chat',
    path: `/app/chats/${chatId}`,
    async open(page) {
      await page.getByText('From the lake').waitFor()
    },
  },
  {
    name: 'temporary-chat-diagram',
    path: `/app/chats/${temporaryId}`,
    async open(page) {
      await page.getByRole('region', { name: 'Temporary chat' }).waitFor()
      await page.getByRole('button', { name: 'Draw', exact: true }).press('Enter')
      await page.frameLocator('iframe').locator('svg').getByText('Keyblock').waitFor()
    },
  },
  {
    name: 'automation',
    path: `/app/automations/${automationId}`,
    async open(page) {
      await page.getByRole('list', { name: 'Runs' }).getByText('succeeded').waitFor()
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
  { name: 'workspaces', path: '/app/workspaces' },
  { name: 'accounts', path: '/app/accounts' },
  {
    name: 'instance',
    path: '/app/admin/instance',
    async open(page) {
      await page.getByRole('list', { name: 'Checks' }).waitFor()
    },
  },
  { name: 'shared-by-me', path: '/app/shared-by-me' },
  { name: 'shared-with-me', path: '/app/shared-with-me' },
  {
    name: 'share',
    path: '/app/share',
    async open(page) {
      await page.getByRole('heading', { name: 'Nothing to share' }).waitFor()
    },
  },
  { name: 'inbox', path: '/app/inbox' },
  { name: 'notifications', path: '/app/settings/notifications' },
]
