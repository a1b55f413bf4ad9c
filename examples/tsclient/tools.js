// Lists and calls the tools of the showcase with the inspector's command and the protocol's own client, which holds each
// result to the schema of its tool. The arguments are the showcase's URL, and a token.

import {execFileSync} from 'node:child_process';
import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';

const [url, token] = process.argv.slice(2);
const endpoint = `${url}/mcp`;

function show(...words) {
  console.log(...words);
}

/** Runs the inspector's command, and returns what it prints. */
function inspect(method, ...more) {
  const always = ['--cli', endpoint, '--transport', 'http', '--method', method];
  return JSON.parse(execFileSync('inspector', [...always, ...more], {encoding: 'utf8'}));
}

const ofPayroll = (tools) =>
  tools
    .map(({name}) => name)
    .filter((name) => name.startsWith('payroll'))
    .join();
const bearer = `Bearer ${token}`;
show('inspector', ofPayroll(inspect('tools/list').tools));
show('inspector', ofPayroll(inspect('tools/list', '--header', `Authorization: ${bearer}`).tools));
const called = inspect('tools/call', '--tool-name', 'calculator_add', '--tool-arg', 'x=5', 'y=6');
show('inspector', called.structuredContent.sum);
const streamed = inspect('tools/call', '--tool-name', 'trouble_count', '--tool-arg', 'n=3');
show('inspector', streamed.structuredContent.elements.length);
const read = inspect('resources/read', '--uri', 'https://orders.example:417/on-ordered?limit=1');
show('inspector', JSON.parse(read.contents[0].text).events.length);

/** Connects a client, which sends a token or none. */
async function open(headers) {
  const client = new Client({name: 'tools.js', version: '1'});
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), {requestInit: {headers}}));
  return client;
}

for (const client of [await open({}), await open({authorization: bearer})]) {
  const {tools} = await client.listTools();
  show('client', ofPayroll(tools));
  const endless = ({name, description}) => name.startsWith('trouble') || description.includes('Streams');
  for (const {name} of tools.filter((tool) => !endless(tool))) {
    await client.callTool({name, arguments: {}}).then(
      () => undefined,
      (failed) => show('client', name, failed.message),
    );
  }
  const {structuredContent} = await client.callTool({name: 'calculator_add', arguments: {x: 5, y: 6}});
  show('client', structuredContent.sum);
  const refused = await client.callTool({name: 'payments_pay', arguments: {cents: 0}});
  show('client', refused.isError, refused.content[0].text.slice(0, 3));
  const seen = [];
  await client.callTool({name: 'trouble_count', arguments: {n: 3}}, {onprogress: ({progress}) => seen.push(progress)});
  show('client', seen.join());
  await client.close();
}
