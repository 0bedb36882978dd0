// The filter language: parsing and printing. The module runs without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { loadModule } from './environment.js';

const { ACCESS_FIELDS, BadFilter, having, havingLabel, narrow, readFilter, toQuery, writeFilter } =
  await loadModule('filter/expression.js');

const read = (/** @type {string} */ text) => readFilter(text, ACCESS_FIELDS);
const name = (/** @type {string} */ value) => [[{ name: 'name', operator: '=', value }]];

test('a printed filter parses to the same expression', () => {
  for (const value of ['pump-7', 'a & b; c', '100%', '%26', ' edge ', 'é "x" <y> = z', '+', 'a\nb']) {
    assert.deepEqual(read(writeFilter(name(value))), name(value), value);
    assert.deepEqual(read(having('name', value)), name(value), value);
  }
});

test('a filter may be percent-encoded', () => {
  const since = [[{ name: 'createdAt', operator: '>=', value: '2026-11-01' }]];
  for (const text of [
    'createdAt>=2026-11-01',
    'createdAt%3E=2026-11-01',
    'createdAt%3e%3d2026-11-01',
    'filter=createdAt>=2026-11-01',
  ]) {
    assert.deepEqual(read(text), since, text);
  }
  const both = read('filter=contractId%3DA%26productOfferingId%3DB');
  assert.deepEqual(both, read('contractId=A&productOfferingId=B'));
});

test('alternatives and conditions keep their order in a request', () => {
  assert.equal(
    toQuery(read('contractId=A & createdAt>2026-11-01; name=x y')),
    'contractId=A&createdAt%3E2026-11-01;name=x%20y',
  );
});

test('a condition on a label has a key, and a value or none', () => {
  const site = havingLabel('site', 'a & b = c');
  const any = { name: 'label', key: 'team', operator: '', value: '' };
  assert.deepEqual(read(writeFilter([[site, any]])), [[site, any]]);
  assert.deepEqual(read('label.site%3Dx&label.team;label.a.b-c_1=y'), [
    [havingLabel('site', 'x'), any],
    [havingLabel('a.b-c_1', 'y')],
  ]);
  assert.equal(toQuery([[site, any]]), 'label.site=a%20%26%20b%20%3D%20c&label.team');
});

test('a filter is narrowed to a label in every alternative, once', () => {
  const site = havingLabel('site', 'x');
  assert.equal(writeFilter(narrow([], site)), 'label.site=x');
  const narrowed = narrow(read('name=a;name=b&label.site=x'), site);
  assert.equal(writeFilter(narrowed), 'name=a&label.site=x;name=b&label.site=x');
  assert.deepEqual(narrow(narrowed, site), narrowed);
});

test('a status is read in any case, and by the console’s word', () => {
  for (const text of ['status=PENDING_ACTIVE', 'status=pending_active', 'status=Pending', 'Status%3DPENDING_ACTIVE']) {
    assert.deepEqual(read(text), [[{ name: 'status', operator: '=', value: 'PENDING_ACTIVE' }]], text);
  }
});

test('an invalid filter is explained', () => {
  /** @type {[string, RegExp][]} */
  const faults = [
    ['colour=red', /“colour” is not a filter field\. The fields are: contractId/],
    ['contractId>A', /“contractId” does not support “>”/],
    ['contractId=', /“contractId” has no value/],
    ['contractId=A&&name=x', /nothing between two separators/],
    ['hello', /“hello” is not a condition/],
    ['createdAt>=yesterday', /“yesterday” is not a time/],
    ['status=SUSPENDET', /“SUSPENDET” is not a status\. Choose one of: PENDING_ACTIVE, ACTIVE, SUSPENDED, /],
    ['label=x', /“label” names no label: the key is missing/],
    ['label.=x', /the key is missing/],
    ['label.Site=x', /“label.Site” names no label: the key “Site” has a character other than a–z/],
    ['label.site=', /“label.site” has no value/],
    ['label.site>x', /“label.site” does not support “>”, only =$/],
    ['contractId', /is not a condition/],
  ];
  for (const [text, why] of faults) {
    assert.throws(
      () => read(text),
      (cause) => cause instanceof BadFilter && why.test(/** @type {Error} */ (cause).message),
      text,
    );
  }
  assert.deepEqual(read('  '), []);
});
